/* The words that CUDA adds to C++, and those of the emulator itself. */
#ifndef DIETCODE_HOST_KEYWORDS_H
#define DIETCODE_HOST_KEYWORDS_H

#define __global__
#define __device__
#define __host__
#define __constant__
/* In a function this is static, too: one for all blocks, which run one after the other. */
#define __shared__ thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

#define DIETCODE_UNROLL
#define DIETCODE_UNROLL_BY(count)
#define DIETCODE_ASSUME(condition) assert(condition)
#define DIETCODE_BODY static __attribute__((noinline)) void
#define DIETCODE_CALL(body, whole, ...) body(whole, __VA_ARGS__);
inline int dietcode_own(int x, bool) { return x; }
#define DIETCODE_MAY_ALIAS __attribute__((may_alias))
#define DIETCODE_DYNAMIC_SHARED(name) unsigned char *const name = dietcode_host::dynamic_shared_memory();

/* Whether the compiler tells of each access, see accesses.h. */
#if defined(__SANITIZE_THREAD__)
#define DIETCODE_HOST_WATCHES
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DIETCODE_HOST_WATCHES
#endif
#endif
/* A function of the emulator itself. It is compiled with the kernels of each file; or, where there are many files, once, by a file that defines
 * DIETCODE_HOST_EMULATOR, while those of kernels define DIETCODE_HOST_APART and have its declaration alone. */
#if defined(DIETCODE_HOST_EMULATOR)
#define DIETCODE_HOST_FUNCTION __attribute__((used)) inline
#elif defined(DIETCODE_HOST_APART)
#define DIETCODE_HOST_FUNCTION
#else
#define DIETCODE_HOST_FUNCTION inline
#endif
/* Of a function that does what hardware or the emulator does, not the kernel: the compiler tells nothing of it. */
#define DIETCODE_HOST_UNWATCHED __attribute__((no_sanitize("thread")))

#endif
