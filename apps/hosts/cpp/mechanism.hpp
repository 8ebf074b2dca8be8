// A mechanism of librtmbs as a C++ object: it frees itself, and refusals are exceptions.
#pragma once
#include "rtmbs.h"
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

class Mechanism {
public:
    explicit Mechanism(const std::string &file) {
        char error[256];
        it_.reset(rtmbs_load(file.c_str(), error, sizeof error));
        if (!it_) throw std::runtime_error(error);
    }
    int input(const std::string &name) const { return known(rtmbs_input(it_.get(), name.c_str()), name); }
    int output(const std::string &name) const { return known(rtmbs_output(it_.get(), name.c_str()), name); }
    void set(int input, double value) { check(rtmbs_set_input(it_.get(), input, value)); }
    double read(int output) { return rtmbs_output_value(it_.get(), output); }
    void step(long long count = 1) {
        int status = rtmbs_step(it_.get(), count);
        if (!rtmbs_taken(status)) check(status);
    }
    double time() const { return rtmbs_time(it_.get()); }
    double step_size() const { return rtmbs_step_size(it_.get()); }
    std::vector<char> state() const {
        std::vector<char> bytes(rtmbs_state_size(it_.get()));
        rtmbs_get_state(it_.get(), bytes.data());
        return bytes;
    }
    void restore(const std::vector<char> &state) { check(rtmbs_set_state(it_.get(), state.data(), state.size())); }

private:
    struct Free {
        void operator()(rtmbs_mechanism *it) const { rtmbs_free(it); }
    };
    static int known(int handle, const std::string &name) {
        if (handle < 0) throw std::out_of_range("there is no input or output " + name);
        return handle;
    }
    static void check(int status) {
        if (status) throw std::runtime_error(rtmbs_status_text(status));
    }
    std::unique_ptr<rtmbs_mechanism, Free> it_;
};
