/* In which order the blocks of a grid run, and warps, and the threads of a warp, from one barrier to the next. */
#ifndef DIETCODE_HOST_ORDER_H
#define DIETCODE_HOST_ORDER_H

namespace dietcode_host {

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
class Random {
  uint64_t state;

public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t operator()() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

/* Of blocks, by the seed: ascending, descending, or each as far behind the one before, around the grid, by a number that has no divisor in
 * common with that of the blocks, so that each comes once. */
class BlockOrder {
  uint64_t blocks, at, step;

  static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
      const uint64_t rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }

public:
  BlockOrder(uint64_t blocks, uint64_t seed) : blocks(blocks), at(0), step(1) {
    if (seed % 3 == 1) at = step = blocks - 1;
    if (seed % 3 != 2) return;
    Random random(seed);
    at = random() % blocks;
    do step = random() % blocks + 1;
    while (common_divisor(step, blocks) != 1);
  }

  /* The number of the next block. */
  uint64_t next() {
    const uint64_t now = at;
    at = (at + step) % blocks;
    return now;
  }
};

/* Ascending, descending and shuffled by turns. */
class Order {
  Random random;
  uint64_t phase;

  void arrange(unsigned (&places)[32]) {
    for (unsigned i = 0; i < 32; ++i) places[i] = phase % 3 == 1 ? 31 - i : i;
    if (phase % 3 == 2)
      for (unsigned i = 31; i > 0; --i) std::swap(places[i], places[random() % (i + 1)]);
  }

public:
  unsigned warps[32], lanes[32];

  explicit Order(uint64_t seed) : random(seed), phase(seed) {}

  /* The orders of the next phase. */
  void next() {
    arrange(warps);
    arrange(lanes);
    ++phase;
  }
};

}  // namespace dietcode_host

#endif
