/* Fibers: the stacks of a block's threads, and the change from one to another.
 *
 * A change saves what the ABI says a function preserves, and exchanges the stack pointer. For processors without a few lines of
 * assembly here there is POSIX's ucontext, which asks the system for its signal mask at every change.
 */
#ifndef DIETCODE_HOST_FIBERS_H
#define DIETCODE_HOST_FIBERS_H

namespace dietcode_host {

#if defined(__x86_64__) && !defined(DIETCODE_HOST_UCONTEXT)

extern "C" void dietcode_host_change(void **from, void *to) __asm__("dietcode_host_change");
__asm__(
    ".text\n"
    ".p2align 4\n"
    "dietcode_host_change:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n");

/* Six registers, then the address that `ret` takes; behind it an empty return address, where the ABI wants a frame to begin. */
constexpr int FRAME = 8, FRAME_ENTRY = 6;

#elif defined(__aarch64__) && !defined(DIETCODE_HOST_UCONTEXT)

extern "C" void dietcode_host_change(void **from, void *to) __asm__("dietcode_host_change");
__asm__(
    ".text\n"
    ".p2align 4\n"
    "dietcode_host_change:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n"
    "  str x9, [x0]\n"
    "  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n");

/* Twenty registers; the twelfth is the address that `ret` takes. */
constexpr int FRAME = 20, FRAME_ENTRY = 11;

#else
#define DIETCODE_HOST_USES_UCONTEXT
#endif

#ifndef DIETCODE_HOST_USES_UCONTEXT
/* A fiber that is not running: its stack pointer. */
class Fiber {
  void *stack_pointer = nullptr;

public:
  /* Begins `entry`, which never returns, on an empty stack at the next change to this fiber. */
  void prepare(char *stack, size_t bytes, void (*entry)()) {
    void **frame = reinterpret_cast<void **>(stack + bytes) - FRAME;
    for (int i = 0; i < FRAME; ++i) frame[i] = nullptr;
    frame[FRAME_ENTRY] = reinterpret_cast<void *>(entry);
    stack_pointer = frame;
  }
  /* Leaves the running fiber in `this`. */
  void change_to(Fiber &next) { dietcode_host_change(&stack_pointer, next.stack_pointer); }
};
#else
class Fiber {
  ucontext_t context;

public:
  void prepare(char *stack, size_t bytes, void (*entry)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = bytes;
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
  }
  void change_to(Fiber &next) { swapcontext(&context, &next.context); }
};
#endif

/* Address space of which nothing can be touched but what is opened. */
class Pages {
  char *base;
  size_t bytes;

public:
  /* A multiple of every page size in use. */
  static constexpr size_t PAGE = 65536;

  explicit Pages(size_t bytes) : bytes(bytes) {
    void *got = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) throw std::bad_alloc();
    base = static_cast<char *>(got);
  }
  ~Pages() { munmap(base, bytes); }
  Pages(const Pages &) = delete;
  Pages &operator=(const Pages &) = delete;

  /* Makes memory of it, at a multiple of PAGE. */
  char *open(size_t offset, size_t bytes) {
    if (mprotect(base + offset, bytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    return base + offset;
  }
};

/* The stacks of a block's threads, which all blocks of a launch use. Below each is a page that stops what outgrows it. */
class Stacks {
  static constexpr size_t DISTANCE = 5 * Pages::PAGE;
  /* Stacks begin at different offsets, so that not all of them want the same lines of the processor's caches. */
  static constexpr size_t OFFSETS = 32, OFFSET = 128;
  Pages pages;
  std::vector<char *> stacks;

public:
  static constexpr size_t BYTES = DISTANCE - Pages::PAGE - OFFSETS * OFFSET;

  explicit Stacks(size_t count) : pages(count * DISTANCE) {
    for (size_t i = 0; i < count; ++i)
      stacks.push_back(pages.open(i * DISTANCE + Pages::PAGE, DISTANCE - Pages::PAGE) + i % OFFSETS * OFFSET);
  }
  char *operator[](size_t i) const { return stacks[i]; }
};

}  // namespace dietcode_host

#endif
