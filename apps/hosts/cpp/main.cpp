// A host in C++: two controlled mechanisms in two threads, and a run that goes on from a saved state.
#include "mechanism.hpp"
#include <cmath>
#include <cstdio>
#include <thread>

constexpr double every = 0.01, reference = 8.0, kp = 0.6, ki = 2.0;
constexpr int samples = 200;

struct Run {
    explicit Run(const std::string &file) : crank(file) {}
    void go(int count) {
        int torque = crank.input("motor.torque"), rate = crank.output("pivot.rate");
        for (int k = 0; k < count; k++) {
            double error = reference - crank.read(rate);
            crank.set(torque, kp * error + ki * integral);
            integral += error * every;
            crank.step(std::llround(every / crank.step_size()));
        }
    }
    Mechanism crank;
    double integral = 0.0;
};

int main(int count, char **words) try {
    if (count < 2) throw std::runtime_error("name the mechanism file");
    Run one(words[1]), other(words[1]);
    std::thread beside([&other] { other.go(samples); });
    one.go(samples / 2);
    auto half = one.crank.state();
    double integral = one.integral;
    one.go(samples / 2);
    beside.join();
    if (one.crank.state() != other.crank.state()) throw std::runtime_error("two threads gave two answers");
    auto whole = one.crank.state();
    one.crank.restore(half);
    one.integral = integral;
    one.go(samples / 2);
    if (one.crank.state() != whole) throw std::runtime_error("the saved state went another way");
    double speed = one.crank.read(one.crank.output("pivot.rate"));
    std::printf("t = %.17g s, speed = %.17g rad/s, slider at %.17g m\n", one.crank.time(), speed,
                one.crank.read(one.crank.output("slider.position[x]")));
    return std::fabs(speed - reference) < 0.25 * reference ? 0 : 1;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
