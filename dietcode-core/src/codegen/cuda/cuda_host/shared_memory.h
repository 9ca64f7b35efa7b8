/* Dynamic shared memory: exactly as large as launched, poisoned, with canaries on both sides. */
#ifndef DIETCODE_HOST_SHARED_MEMORY_H
#define DIETCODE_HOST_SHARED_MEMORY_H

namespace dietcode_host {

/* A NaN as f16, as bf16 (signalling) and, twice, as float (signalling). */
constexpr unsigned short POISON = 0x7fa1;

DIETCODE_HOST_FUNCTION void poison(void *to, size_t bytes);
/* Ends the launch if a function of the warp or of cp.async is given memory beside the dynamic shared memory. */
DIETCODE_HOST_FUNCTION void require_inside(const void *p, size_t size, const char *what);
DIETCODE_HOST_FUNCTION void require_aligned(const void *p, int bytes, const char *what);

#ifndef DIETCODE_HOST_APART
DIETCODE_HOST_FUNCTION void poison(void *to, size_t bytes) {
  char pattern[2];
  memcpy(pattern, &POISON, 2);
  for (size_t i = 0; i < bytes; ++i) static_cast<char *>(to)[i] = pattern[(reinterpret_cast<uintptr_t>(to) + i) % 2];
}
#endif

class SharedMemory {
  static constexpr size_t CANARY = 4096;
  /* The alignment that CUDA promises, and no more. */
  static constexpr size_t ALIGNMENT = 16;

  size_t extent;
  Pages pages;
  char *first;
  std::vector<char> clean;

  static size_t whole_pages(size_t bytes) { return (bytes + Pages::PAGE - 1) / Pages::PAGE * Pages::PAGE; }

public:
  const size_t bytes;

  explicit SharedMemory(size_t bytes)
      : extent(CANARY + ALIGNMENT + bytes + CANARY), pages(whole_pages(extent) + 2 * Pages::PAGE),
        first(pages.open(Pages::PAGE, whole_pages(extent))), clean(extent), bytes(bytes) {
    poison(clean.data(), extent);
  }

  char *begin() const { return first + CANARY + ALIGNMENT; }
  /* It, and what belongs to nothing beside it. */
  char *low() const { return first; }
  char *high() const { return first + extent; }
  void clear() { memcpy(first, clean.data(), extent); }

  /* Whether `size` bytes at an address are near this memory, but not in it. */
  bool is_beside(const void *p, size_t size) const {
    const char *at = static_cast<const char *>(p);
    const bool near = at + size > first && at < first + extent;
    return near && (at < begin() || at + size > begin() + bytes);
  }

  /* The offset of a byte beside this memory that was written; `bytes` and more are behind it, negative ones before it. */
  bool find_damage(long long *offset) const {
    const size_t before = CANARY + ALIGNMENT, behind = before + bytes;
    if (memcmp(first, clean.data(), before) == 0 && memcmp(first + behind, clean.data() + behind, CANARY) == 0) return false;
    size_t at = 0;
    while (first[at] == clean[at] || (at >= before && at < behind)) ++at;
    *offset = static_cast<long long>(at) - static_cast<long long>(before);
    return true;
  }
};

inline unsigned char *dynamic_shared_memory() { return reinterpret_cast<unsigned char *>(block->shared->begin()); }

#ifndef DIETCODE_HOST_APART
/* Where an address is, as far as it is known. */
inline std::string place(const void *p) {
  const SharedMemory *shared = block ? block->shared : nullptr;
  if (shared && (shared->is_beside(p, 1) || (p >= shared->begin() && p < shared->begin() + shared->bytes)))
    return text("byte %td of dynamic shared memory", static_cast<const char *>(p) - shared->begin());
  return text("address %p", p);
}

DIETCODE_HOST_FUNCTION void require_inside(const void *p, size_t size, const char *what) {
  if (block && block->shared->is_beside(p, size))
    fail("%s takes %zu bytes at %s, which has %zu bytes", what, size, place(p).c_str(), block->shared->bytes);
}

DIETCODE_HOST_FUNCTION void require_aligned(const void *p, int bytes, const char *what) {
  if (reinterpret_cast<uintptr_t>(p) % static_cast<unsigned>(bytes) != 0)
    fail("misaligned address: %s of %d bytes at %s", what, bytes, place(p).c_str());
}
#endif

}  // namespace dietcode_host

inline void dietcode_require_aligned(const void *p, int bytes) {
  dietcode_host::require_aligned(p, bytes, "a vector access");
}
inline void dietcode_require_whole(int valid, int lanes) {
  if (valid > 0 && valid < lanes) dietcode_host::fail("a copy of all lanes or none has %d of %d", valid, lanes);
}

#endif
