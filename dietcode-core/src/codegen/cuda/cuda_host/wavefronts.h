/* In how many wavefronts shared memory carries out what warps access, where the kernel's file defines DIETCODE_COUNT_WAVEFRONTS; else nothing of
 * this is there.
 *
 * 32 banks of 4 bytes: what lanes want of one word comes in one wavefront, different words of a bank in one each; 8 bytes of a lane in those of
 * two halves of the warp, 16 in those of four quarters. Lanes that do not come to an access take no part in it. Between two barriers
 * a thread accesses an element once, and neighbours by one instruction of up to 16 bytes, if all lanes have them aligned, as a compiler makes it
 * of unrolled loops. What cp.async and ldmatrix access is as the kernel says. The cost model counts by the same rules what indices say
 * (cost_model/cuda/wavefronts.rs).
 */
#ifndef DIETCODE_HOST_WAVEFRONTS_H
#define DIETCODE_HOST_WAVEFRONTS_H

#ifdef DIETCODE_COUNT_WAVEFRONTS
#ifndef DIETCODE_HOST_WATCHES
#error "wavefronts are counted of the accesses that a compiler tells of: -fsanitize=thread"
#endif
/* Its return address is a place in the kernel. */
#define DIETCODE_HOST_COUNTED __attribute__((noinline))

namespace dietcode_host {

/* Of loads, and of stores. */
inline thread_local unsigned long long counted[2];

/* Offsets in shared memory that a warp's lanes access, less than none for those that take no part. */
using Lanes = std::array<ptrdiff_t, 32>;
constexpr ptrdiff_t NONE = PTRDIFF_MIN;

/* What a thread has done since the last barrier. */
struct Touch {
  const void *place;
  ptrdiff_t at;
  unsigned bytes;
  bool writes;
  /* Whether it is an instruction as it is, or may be one with its neighbours. */
  bool is_whole;
};
inline thread_local std::vector<std::vector<Touch>> touches;

inline unsigned wavefronts(const Lanes &lanes, ptrdiff_t base, unsigned bytes) {
  const unsigned at_once = bytes <= 4 ? 32 : 128 / bytes;
  unsigned all = 0;
  for (unsigned first = 0; first < 32; first += at_once) {
    std::array<std::set<ptrdiff_t>, 32> banks;
    for (unsigned lane = first; lane < first + at_once; ++lane)
      for (ptrdiff_t byte = 0; lanes[lane] != NONE && byte < static_cast<ptrdiff_t>(bytes); ++byte) {
        const ptrdiff_t word = (lanes[lane] + base + byte) / 4;
        banks[static_cast<size_t>(word % 32)].insert(word);
      }
    size_t most = 0;
    for (const auto &words : banks) most = words.size() > most ? words.size() : most;
    all += static_cast<unsigned>(most);
  }
  return all;
}

inline void touch(const Thread &thread, const void *p, size_t bytes, bool writes, bool is_whole, const void *place) {
  const char *const at = static_cast<const char *>(p);
  if (at < block->shared->begin() || at >= block->shared->begin() + block->shared->bytes) return;
  if (touches.size() <= thread.number) touches.resize(thread.number + 1);
  touches[thread.number].push_back({place, at - block->shared->begin(), static_cast<unsigned>(bytes), writes, is_whole});
}

/* The rows of ldmatrix that lanes give at once. */
template <class Row> void count_rows(unsigned lanes, Row row) {
  Lanes all;
  for (unsigned lane = 0; lane < 32; ++lane)
    all[lane] = lane < lanes ? static_cast<const char *>(row(lane)) - block->shared->begin() : NONE;
  counted[0] += wavefronts(all, 0, 16);
}

/* Elements of which each lane that takes part has one, so far apart; and where the first of these lanes has them, of how many bytes. */
using Elements = std::map<Lanes, std::map<ptrdiff_t, unsigned>>;

/* Whether elements that follow each other fill so many bytes. */
inline bool are_there(const std::map<ptrdiff_t, unsigned> &elements, ptrdiff_t at, ptrdiff_t bytes) {
  for (const ptrdiff_t end = at + bytes; at < end;) {
    const auto found = elements.find(at);
    if (found == elements.end()) return false;
    at += found->second;
  }
  return true;
}

inline unsigned long long wavefronts(const Elements &all) {
  unsigned long long sum = 0;
  for (const auto &[lanes, elements] : all) {
    ptrdiff_t next = PTRDIFF_MIN;
    for (const auto &[at, element] : elements) {
      if (at < next) continue;
      ptrdiff_t bytes = 16;
      for (; bytes > static_cast<ptrdiff_t>(element); bytes /= 2) {
        bool is_one = are_there(elements, at, bytes);
        for (const ptrdiff_t lane : lanes) is_one &= lane == NONE || (lane + at) % bytes == 0;
        if (is_one) break;
      }
      sum += wavefronts(lanes, at, static_cast<unsigned>(bytes));
      next = at + bytes;
    }
  }
  return sum;
}

/* At a barrier, and at a block's end: counts what the threads have done since the last one. Lanes that are at a place of the code for the n-th
 * time are there together. */
inline void count_interval() {
  for (size_t first = 0; first < touches.size(); first += 32) {
    std::map<std::tuple<const void *, unsigned, unsigned, bool, bool, unsigned>, Lanes> together;
    for (size_t lane = 0; lane < 32 && first + lane < touches.size(); ++lane) {
      std::map<const void *, unsigned> times;
      for (const Touch &touch : touches[first + lane]) {
        const unsigned time = times[touch.place]++;
        /* An element that is no instruction by itself is told of in words. */
        const unsigned part = touch.is_whole || touch.bytes < 4 ? touch.bytes : 4;
        for (unsigned offset = 0; offset < touch.bytes; offset += part) {
          const auto key = std::make_tuple(touch.place, time, offset, touch.writes, touch.is_whole, part);
          auto found = together.find(key);
          if (found == together.end()) {
            found = together.emplace(key, Lanes()).first;
            found->second.fill(NONE);
          }
          found->second[lane] = touch.at + offset;
        }
      }
      touches[first + lane].clear();
    }
    Elements elements[2];
    for (auto [key, lanes] : together) {
      const bool writes = std::get<3>(key), is_whole = std::get<4>(key);
      const unsigned bytes = std::get<5>(key);
      if (is_whole) {
        counted[writes] += wavefronts(lanes, 0, bytes);
        continue;
      }
      ptrdiff_t base = NONE;
      for (ptrdiff_t &lane : lanes) {
        if (lane == NONE) continue;
        if (base == NONE) base = lane;
        lane -= base;
      }
      elements[writes][lanes].emplace(base, bytes);
    }
    for (unsigned writes = 0; writes < 2; ++writes) counted[writes] += wavefronts(elements[writes]);
  }
}

}  // namespace dietcode_host

#ifndef DIETCODE_HOST_APART
/* Gives the wavefronts of loads and of stores since the last call. */
extern "C" __attribute__((visibility("default"), used)) inline void dietcode_host_wavefronts(unsigned long long *of) {
  for (unsigned writes = 0; writes < 2; ++writes) of[writes] = std::exchange(dietcode_host::counted[writes], 0ull);
}
#endif

#else
#define DIETCODE_HOST_COUNTED

namespace dietcode_host {

inline void touch(const Thread &, const void *, size_t, bool, bool, const void *) {}
template <class Row> void count_rows(unsigned, Row) {}
inline void count_interval() {}

}  // namespace dietcode_host
#endif

#endif
