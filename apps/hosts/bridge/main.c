/* A host in C that loads no library: inputs and outputs are packets to `rtmbs bridge`.
 *
 *   rtmbs bridge apps/hosts/crank.py --inputs motor.torque --outputs 'pivot.rate,slider.position[x]' --lockstep
 *   cc -O2 -ffp-contract=off -Irtmbs/export/c apps/hosts/bridge/main.c -lm -o bridge_host
 *   ./bridge_host SESSION PORT 6          (or SESSION NAME 6 for shared memory)
 *
 * The speed at the start is the third word, 0 unless given: packets hold outputs behind steps only. */
#define _POSIX_C_SOURCE 200809L
#include "rtmbs_bridge.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EVERY 0.01
#define SAMPLES 200
#define REFERENCE 8.0
#define KP 0.6
#define KI 2.0
enum { RATE, PLACE, OUTPUTS_COUNT };

static int wire = -1;
static char *memory;
static uint64_t seen;

static int open_way(const char *word) {
    if (atoi(word) > 0) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(word))};
        struct timeval patience = {.tv_usec = 200000};
        inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
        wire = socket(AF_INET, SOCK_DGRAM, 0);
        setsockopt(wire, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        return connect(wire, (struct sockaddr *)&to, sizeof to);
    }
    char name[64];
    snprintf(name, sizeof name, "/%s", word);
    int file = shm_open(name, O_RDWR, 0);
    if (file < 0) return -1;
    memory = mmap(NULL, 2 * RTMBS_BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? -1 : 0;
}

static int receive(rtmbs_packet *packet, rtmbs_inbox *inbox) {
    size_t size = rtmbs_packet_size(inbox->count);
    if (wire >= 0) {
        ssize_t got = recv(wire, packet, sizeof *packet, 0);
        return got > 0 && rtmbs_accept_outputs(inbox, packet, (size_t)got);
    }
    for (int k = 0; k < 4000; k++) {
        if (rtmbs_read_block(memory + RTMBS_BLOCK, packet, size, &seen)) return rtmbs_accept_outputs(inbox, packet, size);
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    return 0;
}

/* Send a torque until outputs answer it; 0 when none did. */
static int exchange(rtmbs_packet *answer, rtmbs_inbox *inbox, uint64_t sequence, double torque) {
    rtmbs_packet packet;
    size_t size = rtmbs_pack_inputs(&packet, inbox->session, sequence, &torque, 1);
    for (int tries = 0; tries < 200; tries++) {
        if (wire >= 0) (void)!send(wire, &packet, size, 0);
        else rtmbs_write_block(memory, &packet, size);
        if (receive(answer, inbox) && answer->answered >= sequence) return 1;
    }
    return 0;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    rtmbs_inbox inbox = {.session = strtoull(words[1], NULL, 10), .count = OUTPUTS_COUNT};
    rtmbs_packet answer = {.time = 0.0};
    if (open_way(words[2])) {
        fputs("the bridge is not there\n", stderr);
        return 2;
    }
    double integral = 0.0, speed = count > 3 ? atof(words[3]) : 0.0;
    for (int k = 0; k < SAMPLES; k++) {
        double error = REFERENCE - speed;
        if (!exchange(&answer, &inbox, (uint64_t)k + 1, KP * error + KI * integral)) {
            fputs("no answer\n", stderr);
            return 1;
        }
        integral += error * EVERY;
        speed = answer.numbers[RATE];
        if (answer.status) fprintf(stderr, "t = %g s: status %d\n", answer.time, answer.status);
    }
    printf("t = %.17g s, speed = %.17g rad/s, slider at %.17g m\n", answer.time, speed, answer.numbers[PLACE]);
    return fabs(speed - REFERENCE) < 0.25 * REFERENCE ? 0 : 1;
}
