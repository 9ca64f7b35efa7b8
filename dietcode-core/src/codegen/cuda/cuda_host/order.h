/* In which order warps, and the threads of a warp, run from one barrier to the next. */
#ifndef DIETCODE_HOST_ORDER_H
#define DIETCODE_HOST_ORDER_H

namespace dietcode_host {

/* Ascending, descending and shuffled by turns. */
class Order {
  uint64_t state;
  uint64_t phase;

  /* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
  uint64_t random() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  void arrange(unsigned (&places)[32]) {
    for (unsigned i = 0; i < 32; ++i) places[i] = phase % 3 == 1 ? 31 - i : i;
    if (phase % 3 == 2)
      for (unsigned i = 31; i > 0; --i) std::swap(places[i], places[random() % (i + 1)]);
  }

public:
  unsigned warps[32], lanes[32];

  explicit Order(uint64_t seed) : state(seed), phase(seed) {}

  /* The orders of the next phase. */
  void next() {
    arrange(warps);
    arrange(lanes);
    ++phase;
  }
};

}  // namespace dietcode_host

#endif
