/* Packets of `rtmbs bridge` for a host in C: inputs out, outputs in, by UDP or shared memory. One header, no library.
 *
 * A packet is a head of 64 bytes and doubles, little-endian: see rtmbs/export/bridge_client.py. The host is little-endian
 * too. `rtmbs bridge` prints the session and the order of inputs and outputs. */
#ifndef RTMBS_BRIDGE_H
#define RTMBS_BRIDGE_H
#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { RTMBS_INPUTS = 1, RTMBS_OUTPUTS = 2, RTMBS_PACKET_HEAD = 64, RTMBS_PACKET_NUMBERS = 180,
       RTMBS_PACKET_BYTES = RTMBS_PACKET_HEAD + 8 * RTMBS_PACKET_NUMBERS, RTMBS_BLOCK = RTMBS_PACKET_BYTES + 8 };

typedef struct {
    char magic[8];       /* RTMBSBR1 */
    uint16_t version;    /* 1 */
    uint16_t kind;
    uint32_t count;      /* of numbers */
    uint64_t session;
    uint64_t sequence;   /* grows by one from 1 */
    double time;         /* of the mechanism [s] */
    uint64_t answered;   /* sequence of the inputs that it stepped with */
    uint16_t status;     /* of rtmbs.h: 0 when all is well */
    uint16_t spare;
    uint32_t late;       /* ticks that ended after their deadline */
    uint32_t refused;    /* packets that were refused */
    uint32_t checksum;   /* CRC-32 of the packet with zeros here */
    double numbers[RTMBS_PACKET_NUMBERS];
} rtmbs_packet;

/* What one end knows of the other. */
typedef struct {
    uint64_t session, last, lost, refused;
    uint32_t count;
} rtmbs_inbox;

static inline uint32_t rtmbs_crc32(const void *bytes, size_t size) {
    const unsigned char *at = (const unsigned char *)bytes;
    uint32_t sum = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        sum ^= at[i];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (0xedb88320u & (0u - (sum & 1u)));
    }
    return ~sum;
}

static inline size_t rtmbs_packet_size(uint32_t count) { return RTMBS_PACKET_HEAD + 8 * (size_t)count; }

/* Fill a packet of inputs; returns its bytes, or 0 for more numbers than there is room for. */
static inline size_t rtmbs_pack_inputs(rtmbs_packet *packet, uint64_t session, uint64_t sequence, const double *numbers, uint32_t count) {
    if (count > RTMBS_PACKET_NUMBERS) return 0;
    memset(packet, 0, RTMBS_PACKET_HEAD);
    memcpy(packet->magic, "RTMBSBR1", 8);
    packet->version = 1, packet->kind = RTMBS_INPUTS, packet->count = count;
    packet->session = session, packet->sequence = sequence;
    memcpy(packet->numbers, numbers, 8 * (size_t)count);
    packet->checksum = rtmbs_crc32(packet, rtmbs_packet_size(count));
    return rtmbs_packet_size(count);
}

/* 1 when `packet` (size bytes were received) holds outputs of this session that are newer than all before, else 0. */
static inline int rtmbs_accept_outputs(rtmbs_inbox *inbox, const rtmbs_packet *packet, size_t size) {
    rtmbs_packet copy;
    int good = inbox->count <= RTMBS_PACKET_NUMBERS && size == rtmbs_packet_size(inbox->count);
    if (good) {
        memcpy(&copy, packet, size);
        copy.checksum = 0;
        good = !memcmp(packet->magic, "RTMBSBR1", 8) && packet->version == 1 && rtmbs_crc32(&copy, size) == packet->checksum &&
               packet->kind == RTMBS_OUTPUTS && packet->count == inbox->count && packet->session == inbox->session &&
               packet->sequence > inbox->last;
    }
    for (uint32_t k = 0; good && k < inbox->count; k++) good = fabs(packet->numbers[k]) <= 1e100;
    if (!good) {
        inbox->refused++;
        return 0;
    }
    inbox->lost += packet->sequence - inbox->last - 1;
    inbox->last = packet->sequence;
    return 1;
}

/* Shared memory: a block of inputs, then one of outputs, RTMBS_BLOCK bytes each: a counter that is odd during a write,
 * then a packet. Map 2 RTMBS_BLOCK bytes of shm_open("/NAME") on Linux. */
static inline void rtmbs_write_block(void *block, const rtmbs_packet *packet, size_t size) {
    _Atomic uint64_t *counter = (_Atomic uint64_t *)block;
    uint64_t odd = atomic_load_explicit(counter, memory_order_relaxed) | 1;
    atomic_store_explicit(counter, odd, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    memcpy((char *)block + 8, packet, size);
    atomic_store_explicit(counter, odd + 1, memory_order_release);
}
/* 1 when something was written since the counter `*seen`; then the packet is a whole one. */
static inline int rtmbs_read_block(const void *block, rtmbs_packet *packet, size_t size, uint64_t *seen) {
    const _Atomic uint64_t *counter = (const _Atomic uint64_t *)block;
    for (int tries = 0; tries < 1000; tries++) {
        uint64_t before = atomic_load_explicit(counter, memory_order_acquire);
        if (before == *seen || before == 0) return 0;
        memcpy(packet, (const char *)block + 8, size);
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 && atomic_load_explicit(counter, memory_order_relaxed) == before) {
            *seen = before;
            return 1;
        }
    }
    return 0;
}
#endif
