/* Functions that the threads of a warp carry out together: votes, shuffles, __syncwarp. */
#ifndef DIETCODE_HOST_WARP_H
#define DIETCODE_HOST_WARP_H

namespace dietcode_host {

template <class F> inline char type_of;

inline unsigned lane_of(const Thread &thread) { return block->number_of(thread) % 32; }

/* Ends the launch if a function of the warp takes a lane that its mask does not name; `what` it does with it. */
DIETCODE_HOST_FUNCTION void require_named(const char *name, Site site, unsigned mask, const char *what, unsigned lane);

#ifndef DIETCODE_HOST_APART
DIETCODE_HOST_FUNCTION void require_named(const char *name, Site site, unsigned mask, const char *what, unsigned lane) {
  if ((mask >> lane & 1) == 0) fail("%s with mask 0x%08x of %s %s lane %u", name, mask, text(site).c_str(), what, lane);
}
#endif

/* Brings `mine` to the threads of the mask; the last of them to come calls carry_out with what each lane has brought, nullptr
 * for lanes that the mask does not name. */
template <class Lane, class F> void meet(const char *name, Site site, unsigned mask, Lane &mine, F carry_out) {
  Thread &self = *block->running;
  const unsigned lane = lane_of(self);
  require_named(name, site, mask, "is called by", lane);
  self.state = State::at_warp_function;
  self.site = site;
  self.function = {name, mask, &type_of<F>, &mine};

  const unsigned first = block->number_of(self) - lane;
  Lane *lanes[32] = {};
  for (unsigned i = 0; i < 32; ++i) {
    if ((mask >> i & 1) == 0) continue;
    const Thread *other = first + i < block->threads.size() ? &block->threads[first + i] : nullptr;
    if (!other || other->state != State::at_warp_function || !other->function.meets(self.function)) return block->wait();
    lanes[i] = static_cast<Lane *>(other->function.lane);
  }
  carry_out(lanes);
  for (unsigned i = 0; i < 32; ++i)
    if (mask >> i & 1) block->threads[first + i].state = State::ready;
}

/* What the lanes of the mask vote: a bit each. */
inline unsigned vote(const char *name, Site site, unsigned mask, bool predicate) {
  struct Lane {
    bool predicate;
    unsigned result;
  } mine = {predicate, 0};
  meet(name, site, mask, mine, [](Lane *const(&lanes)[32]) {
    unsigned result = 0;
    for (unsigned i = 0; i < 32; ++i) result |= lanes[i] && lanes[i]->predicate ? 1u << i : 0;
    for (Lane *lane : lanes)
      if (lane) lane->result = result;
  });
  return mine.result;
}

/* The value that lane `source` brings. */
template <class T> T shuffle(const char *name, Site site, unsigned mask, T value, unsigned source) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "a shuffle moves numbers of 4 or 8 bytes");
  require_named(name, site, mask, "reads", source);
  struct Lane {
    T value;
    unsigned source;
    T result;
  } mine = {value, source, value};
  meet(name, site, mask, mine, [](Lane *const(&lanes)[32]) {
    for (Lane *lane : lanes)
      if (lane) lane->result = lanes[lane->source]->value;
  });
  return mine.result;
}

/* The running lane, and the ends of the section of `width` lanes in which it shuffles. */
struct Section {
  int lane, first, last;
  explicit Section(int width) : lane(static_cast<int>(lane_of(*block->running))) {
    if (width < 1 || width > 32 || (width & (width - 1)) != 0)
      fail("a shuffle has width %d, which is no power of two up to 32", width);
    first = lane & ~(width - 1);
    last = first + width - 1;
  }
};

}  // namespace dietcode_host

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, dietcode_host::Site site = dietcode_host::Site::here()) {
  const dietcode_host::Section in(width);
  return dietcode_host::shuffle("__shfl_sync", site, mask, value, static_cast<unsigned>(in.first + (source & (width - 1))));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 dietcode_host::Site site = dietcode_host::Site::here()) {
  const dietcode_host::Section in(width);
  const bool inside = delta <= static_cast<unsigned>(in.lane - in.first);
  return dietcode_host::shuffle("__shfl_up_sync", site, mask, value, static_cast<unsigned>(in.lane) - (inside ? delta : 0));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   dietcode_host::Site site = dietcode_host::Site::here()) {
  const dietcode_host::Section in(width);
  const bool inside = delta <= static_cast<unsigned>(in.last - in.lane);
  return dietcode_host::shuffle("__shfl_down_sync", site, mask, value, static_cast<unsigned>(in.lane) + (inside ? delta : 0));
}
/* A lane of an earlier section can be read, one of a later cannot. */
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                  dietcode_host::Site site = dietcode_host::Site::here()) {
  const dietcode_host::Section in(width);
  const int source = (in.lane ^ lane_mask) & 31;
  return dietcode_host::shuffle("__shfl_xor_sync", site, mask, value,
                                static_cast<unsigned>(source > in.last ? in.lane : source));
}

inline unsigned __ballot_sync(unsigned mask, int predicate, dietcode_host::Site site = dietcode_host::Site::here()) {
  return dietcode_host::vote("__ballot_sync", site, mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate, dietcode_host::Site site = dietcode_host::Site::here()) {
  return dietcode_host::vote("__any_sync", site, mask, predicate != 0) != 0;
}
inline int __all_sync(unsigned mask, int predicate, dietcode_host::Site site = dietcode_host::Site::here()) {
  return dietcode_host::vote("__all_sync", site, mask, predicate != 0) == mask;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, dietcode_host::Site site = dietcode_host::Site::here()) {
  using namespace dietcode_host;
  meet("__syncwarp", site, mask, *block->running, [](Thread *const(&lanes)[32]) {
    uint32_t seen[32] = {};
    for (unsigned i = 0; i < 32; ++i)
      if (lanes[i]) ++lanes[i]->seen[i];
    for (const Thread *lane : lanes)
      for (unsigned i = 0; lane && i < 32; ++i) seen[i] = lane->seen[i] > seen[i] ? lane->seen[i] : seen[i];
    for (Thread *lane : lanes)
      if (lane) memcpy(lane->seen, seen, sizeof seen);
  });
}

#endif
