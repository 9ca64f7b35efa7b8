/* A block, its threads, and how a thread's mistake ends a launch. */
#ifndef DIETCODE_HOST_BLOCK_H
#define DIETCODE_HOST_BLOCK_H

inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;
constexpr int warpSize = 32;

/* A parameter of a launch. */
struct dietcode_argument {
  /* Where its value stands. */
  void *value;
  /* If that is a pointer to a tensor: of how many bytes; else 0. */
  unsigned long long bytes;
};

namespace dietcode_host {

/* A place in the kernel's source. */
struct Site {
  const char *file;
  int line;

  /* As the default value of a parameter: the place of the call. */
  static constexpr Site here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
  bool operator!=(const Site &other) const { return line != other.line || strcmp(file, other.file) != 0; }
};

/* printf into a string. */
__attribute__((format(printf, 1, 2))) DIETCODE_HOST_FUNCTION std::string text(const char *format, ...);
DIETCODE_HOST_FUNCTION std::string text(Site site);
DIETCODE_HOST_FUNCTION std::string text(uint3 place);

#ifndef DIETCODE_HOST_APART
__attribute__((format(printf, 1, 0))) inline std::string formatted(const char *format, va_list values) {
  char text[512];
  vsnprintf(text, sizeof text, format, values);
  return text;
}
DIETCODE_HOST_FUNCTION std::string text(const char *format, ...) {
  va_list values;
  va_start(values, format);
  std::string made = formatted(format, values);
  va_end(values);
  return made;
}

DIETCODE_HOST_FUNCTION std::string text(Site site) {
  const char *slash = strrchr(site.file, '/');
  return text("%s:%d", slash ? slash + 1 : site.file, site.line);
}
DIETCODE_HOST_FUNCTION std::string text(uint3 place) { return text("(%u,%u,%u)", place.x, place.y, place.z); }
#endif

/* A thread that gives way goes on when no other can. */
enum class State { ready, gives_way, at_barrier, at_warp_function, exited };

/* What a thread calls that all threads of a mask carry out together. */
struct WarpFunction {
  const char *name;
  unsigned mask;
  /* Tells functions apart whose lanes bring different things. */
  const void *type;
  /* What this thread brings and where it gets its result. */
  void *lane;

  bool meets(const WarpFunction &other) const {
    return mask == other.mask && type == other.type && (name == other.name || strcmp(name, other.name) == 0);
  }
};

/* Bytes that cp.async will have written once its group has been waited for. */
struct AsyncCopy {
  char *to;
  unsigned bytes;
  unsigned group;
  char data[16];
};

/* Some addresses. */
struct Range {
  const char *begin, *end;
  DIETCODE_HOST_UNWATCHED bool has(const char *at) const { return at >= begin && at < end; }
};

struct Thread {
  Fiber fiber;
  Range stack;
  uint3 index;
  State state;
  /* Where it waits. */
  Site site;
  WarpFunction function;
  std::vector<AsyncCopy> copies;
  unsigned groups;
  unsigned number;
  /* How many __syncwarp of each lane of its warp come before what it does; of its own lane, those that it has passed. */
  uint32_t seen[32];
  /* Whether it has called __threadfence. */
  bool is_fenced;
  /* More than 0: what it does to memory is not the kernel's, or is noted otherwise. */
  unsigned unwatched;
};

/* An atomic function by which a thread tells others, or is told, of what was done before. */
struct Meeting {
  uint32_t block, interval;
  uint16_t thread;
};

class SharedMemory;
class Watched;
class Tensors;

/* The block that is being carried out. */
struct Block {
  uint3 index;
  std::vector<Thread> threads;
  Thread *running;
  Fiber scheduler;
  /* Which of the grid it is, from 1 on, and how many barriers it has passed. */
  uint32_t number, interval;
  /* Of all blocks up to this one, by what their threads have told others, and were told. */
  std::vector<Meeting> released, acquired;
  SharedMemory *shared;
  Watched *watched;
  /* Arrays under __shared__, where they are watched. */
  Watched *static_shared;
  /* What of the emulator's own is among them. */
  Range own[5];
  Tensors *tensors;
  void (*kernel)(void *);
  void *arguments;
  std::string error;

  unsigned number_of(const Thread &thread) const { return static_cast<unsigned>(&thread - threads.data()); }
  static uint3 index_of(uint64_t n) {
    const uint64_t rest = n / gridDim.x;
    return {static_cast<unsigned>(n % gridDim.x), static_cast<unsigned>(rest % gridDim.y), static_cast<unsigned>(rest / gridDim.y)};
  }
  static std::string name_of(uint64_t n) { return "block " + text(index_of(n)); }
  std::string name() const { return "block " + text(index); }
  std::string name(const Thread &thread) const { return name() + ", thread " + text(thread.index); }
  /* Says what a thread does that has not come where it should have. */
  std::string excuse(const Thread &thread) const {
    const std::string who = "thread " + text(thread.index);
    if (thread.state == State::exited) return who + " has exited";
    if (thread.state == State::at_barrier) return who + " waits at the __syncthreads of " + text(thread.site);
    return who + text(" waits at %s with mask 0x%08x of ", thread.function.name, thread.function.mask) + text(thread.site);
  }
  /* Runs something else until somebody makes the running thread ready. */
  void wait() { running->fiber.change_to(scheduler); }
};

inline thread_local Block *block = nullptr;

/* Unwinds a thread that has made a mistake. */
struct Failed {};

/* Ends the launch with a sentence about the running thread. */
[[noreturn]] __attribute__((format(printf, 1, 2))) DIETCODE_HOST_FUNCTION void fail(const char *format, ...);
[[noreturn]] DIETCODE_HOST_FUNCTION void fail_assertion(const char *condition, Site site);
[[noreturn]] DIETCODE_HOST_FUNCTION void fail_trap(Site site);

#ifndef DIETCODE_HOST_APART
DIETCODE_HOST_FUNCTION void fail(const char *format, ...) {
  va_list values;
  va_start(values, format);
  const std::string what = formatted(format, values);
  va_end(values);
  if (block == nullptr) {
    fprintf(stderr, "a function of CUDA's is called outside a launch: %s\n", what.c_str());
    abort();
  }
  block->error = block->name(*block->running) + ": " + what;
  throw Failed();
}
DIETCODE_HOST_FUNCTION void fail_assertion(const char *condition, Site site) {
  fail("assertion `%s` failed at %s", condition, text(site).c_str());
}
DIETCODE_HOST_FUNCTION void fail_trap(Site site) { fail("__trap() at %s", text(site).c_str()); }
#endif

}  // namespace dietcode_host

[[noreturn]] inline void __trap(dietcode_host::Site site = dietcode_host::Site::here()) { dietcode_host::fail_trap(site); }

/* As the device's assert: in a kernel it ends the launch. */
#ifndef NDEBUG
#undef assert
#define assert(condition) \
  ((condition) ? void(0) : dietcode_host::fail_assertion(#condition, dietcode_host::Site{__FILE__, __LINE__}))
#endif

DIETCODE_HOST_UNWATCHED inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  dietcode_host::block->running->is_fenced = true;
}
DIETCODE_HOST_UNWATCHED inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#endif
