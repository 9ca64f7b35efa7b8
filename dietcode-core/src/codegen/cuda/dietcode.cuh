/* What the generated CUDA files of dietcode use, and all that they include.
 *
 * Under nvcc and NVRTC every function is one or a few PTX instructions. No header of the toolkit is included, so that NVRTC
 * needs no include path. Under a C++ compiler the same names are carried out on a CPU (target `cuda-host`): cuda_host/.
 *
 * Elements are float, dietcode_f16, dietcode_bf16 or double; arithmetic is in float, or, where one is a double, in double. PTX is as in the "PTX ISA" manual, whose names of
 * instructions stand at their functions.
 */
#ifndef DIETCODE_CUH
#define DIETCODE_CUH

/* Where the emulator counts accesses by their place in the code, `x = c ? y : z` is to be one store, not one for each side. */
#ifdef DIETCODE_COUNT_WAVEFRONTS
#define DIETCODE_STORED_ONCE(T)   \
  T &operator=(const T &other) {  \
    bits = other.bits;            \
    return *this;                 \
  }
#else
#define DIETCODE_STORED_ONCE(T)
#endif

/* Numbers of 16 bits: IEEE 754's binary16, and the upper half of a float. */
struct dietcode_f16 {
  unsigned short bits;
  DIETCODE_STORED_ONCE(dietcode_f16)
};
struct dietcode_bf16 {
  unsigned short bits;
  DIETCODE_STORED_ONCE(dietcode_bf16)
};

#ifdef __CUDACC__
#define DIETCODE_UNROLL _Pragma("unroll")
#define DIETCODE_PRAGMA(text) _Pragma(#text)
/* Before a loop: the code of so many iterations stands one behind the other. */
#define DIETCODE_UNROLL_BY(count) DIETCODE_PRAGMA(unroll count)
/* Declares `name` as the block's dynamic shared memory: an array of bytes, aligned to 16 of them. */
#define DIETCODE_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[];
/* Makes a kernel callable from the host where that needs more than its symbol: in the emulator. */
#define DIETCODE_ENTRY(symbol)
/* On a type through which memory of any type is read. */
#define DIETCODE_MAY_ALIAS
/* What the compiler may rely on: of numbers that are not negative, divisions are shifts. */
#define DIETCODE_ASSUME(condition) __builtin_assume(condition)
/* A kernel's body, and its call: with a copy of it for either value of its first parameter, so that no iteration asks for it. */
#define DIETCODE_BODY __device__ __forceinline__ void
#define DIETCODE_CALL(body, whole, ...) \
  if (whole)                            \
    body(true, __VA_ARGS__);            \
  else                                  \
    body(false, __VA_ARGS__);
/* x, which each copy of a body has for itself: what both compute of it is not computed before them, where it would take registers. */
__device__ __forceinline__ int dietcode_own(int x, bool whole) {
  asm volatile("mov.b32 %0, %0; // %1" : "+r"(x) : "r"(static_cast<int>(whole)));
  return x;
}
#else
#include "cuda_host/dietcode_host.h"
#endif

__device__ __forceinline__ int dietcode_imin(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ int dietcode_imax(int a, int b) { return a > b ? a : b; }
__device__ __forceinline__ long long dietcode_imin(long long a, long long b) { return a < b ? a : b; }
__device__ __forceinline__ long long dietcode_imax(long long a, long long b) { return a > b ? a : b; }

/* Functions of elements that CUDA's library does not have, of float and of double.
 *
 * max, min: Rust's f32::max and f32::min: of a NaN and a number, the number.
 * clamp: NaN stays, and a bound that is NaN does not bind.
 * powi: by squaring, which rounds less often than n is large. */
#define DIETCODE_FUNCTIONS(T, f)                                                                                   \
  __device__ __forceinline__ T dietcode_max##f(T a, T b) { return fmax##f(a, b); }                                 \
  __device__ __forceinline__ T dietcode_min##f(T a, T b) { return fmin##f(a, b); }                                 \
  __device__ __forceinline__ T dietcode_clamp##f(T a, T low, T high) {                                             \
    const T raised = a < low ? low : a;                                                                            \
    return raised > high ? high : raised;                                                                          \
  }                                                                                                                \
  __device__ __forceinline__ T dietcode_powi##f(T a, int n) {                                                      \
    T power = 1;                                                                                                   \
    for (unsigned left = n < 0 ? 0u - static_cast<unsigned>(n) : static_cast<unsigned>(n); left != 0; left /= 2, a *= a) \
      if (left % 2 == 1) power *= a;                                                                               \
    return n < 0 ? 1 / power : power;                                                                              \
  }
DIETCODE_FUNCTIONS(float, f)
DIETCODE_FUNCTIONS(double, )

#define DIETCODE_INFINITY __int_as_float(0x7f800000)

/* How a maximum and a minimum take a term x: one that is NaN is passed over, and an accumulator that is NaN stays. */
#define DIETCODE_TAKEN(T, F)                                                                                       \
  __device__ __forceinline__ T dietcode_larger##F(T acc, T x) { return x > acc ? x : acc; }                        \
  __device__ __forceinline__ T dietcode_smaller##F(T acc, T x) { return x < acc ? x : acc; }
DIETCODE_TAKEN(float, )
DIETCODE_TAKEN(double, _f64)

__device__ __forceinline__ void dietcode_atomic_add(float *to, float x) { atomicAdd(to, x); }
__device__ __forceinline__ void dietcode_atomic_add(double *to, double x) { atomicAdd(to, x); }

/* Integers: what is computed in 32 bits is held as an unsigned number, whose sums, differences and products are those modulo 2^32; where its sign
 * matters, it is cast. */
using dietcode_u8 = unsigned char;
using dietcode_i8 = signed char;
using dietcode_i32 = unsigned;
__device__ __forceinline__ dietcode_i32 dietcode_larger_i32(dietcode_i32 acc, dietcode_i32 x) {
  return static_cast<int>(x) > static_cast<int>(acc) ? x : acc;
}
__device__ __forceinline__ dietcode_i32 dietcode_smaller_i32(dietcode_i32 acc, dietcode_i32 x) {
  return static_cast<int>(x) < static_cast<int>(acc) ? x : acc;
}
__device__ __forceinline__ dietcode_i32 dietcode_max_i32(dietcode_i32 a, dietcode_i32 b) { return dietcode_larger_i32(a, b); }
__device__ __forceinline__ dietcode_i32 dietcode_min_i32(dietcode_i32 a, dietcode_i32 b) { return dietcode_smaller_i32(a, b); }
__device__ __forceinline__ void dietcode_atomic_add(dietcode_i32 *to, dietcode_i32 x) { atomicAdd(to, x); }

/* Whether an address is a multiple of `bytes`, a power of two. */
__device__ __forceinline__ bool dietcode_is_aligned(const void *p, int bytes) {
  return (reinterpret_cast<unsigned long long>(p) & static_cast<unsigned long long>(bytes - 1)) == 0;
}

#ifdef __CUDACC__
/* ---- Numbers: cvt. ---- */

/* The value of an element. */
__device__ __forceinline__ float dietcode_load(float x) { return x; }
__device__ __forceinline__ float dietcode_load(dietcode_f16 x) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
}
__device__ __forceinline__ float dietcode_load(dietcode_bf16 x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}

/* The element nearest to x, of two the even one; every NaN is 0x7fff in 16 bits. */
template <class T> __device__ T dietcode_round(float x);
template <> __device__ __forceinline__ float dietcode_round<float>(float x) { return x; }
template <> __device__ __forceinline__ dietcode_f16 dietcode_round<dietcode_f16>(float x) {
  dietcode_f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
template <> __device__ __forceinline__ dietcode_bf16 dietcode_round<dietcode_bf16>(float x) {
  dietcode_bf16 y;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#else
  const unsigned bits = __float_as_uint(x);
  y.bits = x != x ? 0x7fff : static_cast<unsigned short>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
#endif
  return y;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
/* A float's bits rounded to the 10 bits of fraction of tf32, to nearest: an operand of mma. Ties go away from zero, which takes two
 * instructions, or, from compute capability 9.0 on, where that takes one, to the even one. */
__device__ __forceinline__ unsigned dietcode_tf32(float x) {
  unsigned bits;
#if __CUDA_ARCH__ >= 900
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
#else
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
#endif
  return bits;
}
#else
/* Before compute capability 8.0, which has no matrix unit for it, using it is a compile error that names it. */
__device__ unsigned dietcode_tf32(float x) = delete;
#endif

/* A misaligned vector access is an error of the device itself, and what a kernel says of its copies is checked by the emulator. */
__device__ __forceinline__ void dietcode_require_aligned(const void *, int) {}
__device__ __forceinline__ void dietcode_require_whole(int, int) {}
__device__ __forceinline__ void dietcode_require_disjoint(int, int) {}

/* An element of 4 bytes that each lane of a warp loads for itself. */
template <class T> __device__ __forceinline__ T dietcode_lane_element(const T *p) { return *p; }
#endif

/* The float beside a number, towards zero, of which the last bit is set if it is not the number itself: rounded to fewer bits, it becomes what
 * the number becomes that is rounded once (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Transactions on Computers
 * 57(4), 2008). */
__device__ __forceinline__ float dietcode_odd(double x) {
  const float cut = __double2float_rz(x);
  return cut != x ? __uint_as_float(__float_as_uint(cut) | 1u) : cut;
}

/* What is computed as an element: rounded once. */
template <class T> __device__ __forceinline__ T dietcode_narrowed(float x) { return dietcode_round<T>(x); }
template <class T> __device__ __forceinline__ T dietcode_narrowed(double x) { return dietcode_round<T>(dietcode_odd(x)); }
template <> __device__ __forceinline__ float dietcode_narrowed<float>(double x) { return static_cast<float>(x); }
template <> __device__ __forceinline__ double dietcode_narrowed<double>(double x) { return x; }
template <class T> __device__ __forceinline__ T dietcode_narrowed(dietcode_i32 x) { return static_cast<T>(x); }

/* ---- Copies of neighbouring elements. ---- */

/* What one access moves. */
template <int BYTES> struct dietcode_word;
template <> struct dietcode_word<1> {
  typedef unsigned char DIETCODE_MAY_ALIAS type;
};
template <> struct dietcode_word<2> {
  typedef unsigned short DIETCODE_MAY_ALIAS type;
};
template <> struct dietcode_word<4> {
  typedef unsigned DIETCODE_MAY_ALIAS type;
};
template <> struct dietcode_word<8> {
  using type = uint2;
};
template <> struct dietcode_word<16> {
  using type = uint4;
};

/* LANES elements in registers, moved by as few accesses as there can be. */
template <class T, int LANES> union dietcode_lanes {
  static constexpr int BYTES = LANES * static_cast<int>(sizeof(T));
  static constexpr int WORD = BYTES < 16 ? BYTES : 16;
  static_assert(WORD * (BYTES / WORD) == BYTES && (WORD & (WORD - 1)) == 0, "LANES is a power of two");
  using Word = typename dietcode_word<WORD>::type;

  T lane[LANES];
  Word word[BYTES / WORD];

  __device__ __forceinline__ void load(const T *from) {
    dietcode_require_aligned(from, WORD);
    DIETCODE_UNROLL
    for (int i = 0; i < BYTES / WORD; ++i) word[i] = reinterpret_cast<const Word *>(from)[i];
  }
  __device__ __forceinline__ void store(T *to) const {
    dietcode_require_aligned(to, WORD);
    DIETCODE_UNROLL
    for (int i = 0; i < BYTES / WORD; ++i) reinterpret_cast<Word *>(to)[i] = word[i];
  }
};

/* Of a copy whose addresses are aligned: all of its lanes are valid, or none is. So are those of a single lane. */
constexpr int DIETCODE_WHOLE = 2;
template <int LANES> __device__ __forceinline__ bool dietcode_is_whole(int aligned, int valid) {
  if (aligned == DIETCODE_WHOLE) dietcode_require_whole(valid, LANES);
  return aligned == DIETCODE_WHOLE || (LANES == 1 && aligned);
}

/* to[lane * to_step] = lane < valid ? from[lane] : padding, for each of LANES lanes; where lane >= valid, from is not read. With TF32,
 * elements are rounded to tf32.
 * `aligned`, if it is not 0, says that from, and to if to_step is 1, are aligned to LANES * sizeof(T) bytes: one vector access is used;
 * it may be DIETCODE_WHOLE. */
template <class T, int LANES, bool TF32 = false>
__device__ __forceinline__ void dietcode_copy(T *to, int to_step, const T *from, int valid, int aligned, T padding = T{}) {
  dietcode_lanes<T, LANES> all;
  if (dietcode_is_whole<LANES>(aligned, valid)) {
    DIETCODE_UNROLL
    for (int lane = 0; lane < LANES; ++lane) all.lane[lane] = padding;
    if (valid > 0) all.load(from);
  } else if (aligned && valid >= LANES) {
    all.load(from);
  } else {
    DIETCODE_UNROLL
    for (int lane = 0; lane < LANES; ++lane) all.lane[lane] = lane < valid ? from[lane] : padding;
  }
  if constexpr (TF32) {
    DIETCODE_UNROLL
    for (int lane = 0; lane < LANES; ++lane) all.lane[lane] = __uint_as_float(dietcode_tf32(all.lane[lane]));
  }
  if (aligned && to_step == 1) {
    all.store(to);
  } else {
    DIETCODE_UNROLL
    for (int lane = 0; lane < LANES; ++lane) to[lane * to_step] = all.lane[lane];
  }
}

/* Rounds LANES values to T and stores the first `valid` of them; by one vector access if `to` is aligned to LANES *
 * sizeof(T) bytes and all are valid. */
template <class T, int LANES, class From>
__device__ __forceinline__ void dietcode_store(T *to, const From (&from)[LANES], int valid, bool aligned) {
  dietcode_lanes<T, LANES> all;
  DIETCODE_UNROLL
  for (int lane = 0; lane < LANES; ++lane) all.lane[lane] = dietcode_narrowed<T>(from[lane]);
  if (aligned && valid >= LANES) {
    all.store(to);
  } else {
    DIETCODE_UNROLL
    for (int lane = 0; lane < LANES; ++lane)
      if (lane < valid) to[lane] = all.lane[lane];
  }
}

#ifdef __CUDACC__
/* ---- Matrices of 8 rows of 16 bytes, out of shared memory: ldmatrix. ---- */

/* An address as the instructions for shared memory take it. The compiler sees through this, as it does not through PTX, so that
 * addresses that lie constants apart are converted once. */
__device__ __forceinline__ unsigned dietcode_shared_address(const void *p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/* The element a + b + c + d behind another. Added one by one to an address, of which no bit is known, terms do not become bits that are
 * set, and those that no loop changes are added before it. */
template <class T> __device__ __forceinline__ const T *dietcode_shared_element(const T *from, int a, int b, int c, int d) {
  unsigned address = dietcode_shared_address(from);
  address += static_cast<unsigned>(a) * sizeof(T);
  address += static_cast<unsigned>(b) * sizeof(T);
  address += static_cast<unsigned>(c) * sizeof(T);
  address += static_cast<unsigned>(d) * sizeof(T);
  return static_cast<const T *>(__cvta_shared_to_generic(address));
}

/* Four matrices of 8 x 8 elements of 16 bits: lanes 8m to 8m + 7 give the addresses of the rows of matrix m. In d[m], lane l
 * gets elements 2 (l % 4) and the next of row l / 4; with TRANS those of column l / 4. The lower is in the low half. */
template <bool TRANS> __device__ __forceinline__ void dietcode_ldmatrix_x4(unsigned *d, const void *row) {
  const unsigned address = dietcode_shared_address(row);
  if (TRANS) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(address) : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(address) : "memory");
  }
}
/* The same for two matrices, whose addresses lanes 0 to 15 give. */
template <bool TRANS> __device__ __forceinline__ void dietcode_ldmatrix_x2(unsigned *d, const void *row) {
  const unsigned address = dietcode_shared_address(row);
  if (TRANS) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(d[0]), "=r"(d[1]) : "r"(address) : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(d[0]), "=r"(d[1]) : "r"(address) : "memory");
  }
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
/* ---- Copies that the block need not wait for: cp.async. ---- */

/* BYTES (4, 8 or 16) into shared memory: the first `bytes` of them from global memory, zeros for the rest. A generic address
 * of global memory is its address. Copies of 16 bytes bypass the first-level cache, which others cannot. */
template <int BYTES>
__device__ __forceinline__ void dietcode_cp_async(void *to, const void *from, int bytes) {
  if (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(dietcode_shared_address(to)), "l"(from), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :: "r"(dietcode_shared_address(to)), "l"(from), "n"(BYTES), "r"(bytes) : "memory");
  }
}

/* Ends a group of copies of this thread. */
__device__ __forceinline__ void dietcode_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/* Waits for all groups of this thread but the latest N. */
template <int N> __device__ __forceinline__ void dietcode_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}

/* ---- Tensor cores: mma. ----
 *
 * d += a * b, a is 16 x K, b is K x 8, d is 16 x 8. With g = lane / 4 and t = lane % 4, a lane holds of them, as [row, column]:
 *
 *   d      d[0] = [g, 2t]          d[1] = [g, 2t + 1]          d[2] = [g + 8, 2t]          d[3] = [g + 8, 2t + 1]
 *   K = 16, elements of 16 bits, two in a register, the first in its low half:
 *     a    a[0] = [g, 2t ..+ 1]    a[1] = [g + 8, 2t ..+ 1]    a[2] = [g, 2t + 8 ..+ 1]    a[3] = [g + 8, 2t + 8 ..+ 1]
 *     b    b[0] = [2t ..+ 1, g]    b[1] = [2t + 8 ..+ 1, g]
 *   K = 8, tf32, one in a register:
 *     a    a[0] = [g, t]           a[1] = [g + 8, t]           a[2] = [g, t + 4]           a[3] = [g + 8, t + 4]
 *     b    b[0] = [t, g]           b[1] = [t + 4, g]
 *
 * So ldmatrix_x4 of the quarters of a row-major a (top left, bottom left, top right, bottom right) is a's fragment, and
 * ldmatrix_x2 of the halves of a b that lies column by column (row by row: with TRANS) is b's.
 */
#define DIETCODE_MMA(shape_and_types)                                                                             \
  asm volatile("mma.sync.aligned." shape_and_types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

__device__ __forceinline__ void dietcode_mma(float *d, const unsigned *a, const unsigned *b, dietcode_f16) {
  DIETCODE_MMA("m16n8k16.row.col.f32.f16.f16.f32");
}
__device__ __forceinline__ void dietcode_mma(float *d, const unsigned *a, const unsigned *b, dietcode_bf16) {
  DIETCODE_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
}
__device__ __forceinline__ void dietcode_mma(float *d, const unsigned *a, const unsigned *b, float) {
  DIETCODE_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
}

#else
/* Before compute capability 8.0, using one of these is a compile error that names it. */
template <int BYTES> __device__ void dietcode_cp_async(void *to, const void *from, int bytes) = delete;
__device__ void dietcode_commit() = delete;
template <int N> __device__ void dietcode_wait() = delete;
__device__ void dietcode_mma(float *d, const unsigned *a, const unsigned *b, dietcode_f16) = delete;
__device__ void dietcode_mma(float *d, const unsigned *a, const unsigned *b, dietcode_bf16) = delete;
__device__ void dietcode_mma(float *d, const unsigned *a, const unsigned *b, float) = delete;
#endif
#endif

/* LANES elements into shared memory, as dietcode_copy with to_step 1, but there only after dietcode_commit, dietcode_wait and a
 * barrier. What cp.async cannot do (fewer than 4 bytes, or not aligned) is copied at once. */
template <class T, int LANES>
__device__ __forceinline__ void dietcode_copy_async(T *to, const T *from, int valid, int aligned) {
  using Lanes = dietcode_lanes<T, LANES>;
  if constexpr (Lanes::BYTES >= 4) {
    if (dietcode_is_whole<LANES>(aligned, valid)) {
      DIETCODE_UNROLL
      for (int at = 0; at < Lanes::BYTES; at += Lanes::WORD)
        dietcode_cp_async<Lanes::WORD>(reinterpret_cast<char *>(to) + at, reinterpret_cast<const char *>(from) + at,
                                       valid > 0 ? Lanes::WORD : 0);
      return;
    }
    if (aligned) {
      const int bytes = dietcode_imax(0, dietcode_imin(valid, LANES)) * static_cast<int>(sizeof(T));
      DIETCODE_UNROLL
      for (int at = 0; at < Lanes::BYTES; at += Lanes::WORD)
        dietcode_cp_async<Lanes::WORD>(reinterpret_cast<char *>(to) + at, reinterpret_cast<const char *>(from) + at,
                                       dietcode_imax(0, dietcode_imin(bytes - at, Lanes::WORD)));
      return;
    }
  }
  dietcode_copy<T, LANES>(to, 1, from, valid, aligned);
}
/* The same with something else than zeros where lane >= valid, which cp.async does not write: such a vector is copied at once. */
template <class T, int LANES>
__device__ __forceinline__ void dietcode_copy_async(T *to, const T *from, int valid, int aligned, T padding) {
  if (valid >= LANES) {
    dietcode_copy_async<T, LANES>(to, from, valid, aligned);
  } else {
    dietcode_copy<T, LANES>(to, 1, from, valid, false, padding);
  }
}

/* ---- Rows of a tile in shared memory whose chunks have changed places. ----
 *
 * That of a column lies at (column / CHUNK) ^ (row / ALIKE % GROUPS); all are powers of two. */

/* Where an element lies in its row. */
template <int CHUNK, int GROUPS, int ALIKE> __device__ __forceinline__ int dietcode_swizzled(int row, int column) {
  return column ^ static_cast<int>(static_cast<unsigned>(row) / ALIKE % GROUPS * CHUNK);
}

/* ---- Operands of dietcode_mma in shared memory. ----
 *
 * `rows` is where the operand's element (0, 0) and the others lie, `lane` the thread's number in its warp. An operand lies in rows along
 * the steps, or, if TURNED, in rows along its other side. Eight rows of 16 bytes are one matrix of ldmatrix, which hands them out as the
 * instruction wants them, or transposed. Elements of 32 bits cannot be transposed by it and are loaded one by one. */

/* Rows of which `stride` elements lie between the beginnings of two. */
template <class T> struct dietcode_rows {
  using Element = T;
  const T *corner;
  int stride;

  __device__ __forceinline__ const T *at(int down, int across) const { return corner + (down * stride + across); }
};

/* The same of a swizzled tile, APART of whose rows lie from one to the next. The corner's row begins outer + inner elements behind the
 * tile; `row` is its number, but for those after which the orders repeat, and `column` the corner's, a multiple of how far a matrix goes
 * across. So a lane's offset is the same for all corners but for an exclusive or with what is the same for all lanes. */
template <class T, int CHUNK, int GROUPS, int ALIKE, int APART> struct dietcode_swizzled_rows {
  using Element = T;
  const T *tile;
  int outer, inner, row, column, stride;

  __device__ __forceinline__ const T *at(int down, int across) const {
    const int lane = down * stride + dietcode_swizzled<CHUNK, GROUPS, ALIKE>(row + down * APART, across);
    const int low = column & (CHUNK * GROUPS - 1);
    dietcode_require_disjoint(low, down * stride | across);
    return dietcode_shared_element(tile, outer, inner, column - low, lane ^ low);
  }
};

template <class T> struct dietcode_operand {
  static constexpr int STEPS = 16 / static_cast<int>(sizeof(T)); /* of one of its matrices */
};

/* N registers of such elements as numbers of tf32. */
template <int N> __device__ __forceinline__ void dietcode_round_tf32(unsigned *fragment) {
  DIETCODE_UNROLL
  for (int i = 0; i < N; ++i) fragment[i] = dietcode_tf32(__uint_as_float(fragment[i]));
}
/* The same, and in `low` what they lack: x = high + low but for at most x's last bit. The difference is exact. Of an infinite x, and of one
 * that tf32 rounds to infinity, it is NaN. */
template <int N> __device__ __forceinline__ void dietcode_split_tf32(unsigned *high, unsigned *low) {
  DIETCODE_UNROLL
  for (int i = 0; i < N; ++i) {
    const float x = __uint_as_float(high[i]);
    high[i] = dietcode_tf32(x);
    low[i] = dietcode_tf32(x - __uint_as_float(high[i]));
  }
}

/* 16 rows: top left, bottom left, top right, bottom right. */
template <bool TURNED, class Rows>
__device__ __forceinline__ void dietcode_load_a(unsigned *a, const Rows &rows, int lane) {
  using T = typename Rows::Element;
  constexpr int STEPS = dietcode_operand<T>::STEPS;
  if constexpr (sizeof(T) == 2) {
    const int down = lane % 8 + lane / 8 % 2 * 8, right = lane / 16 * STEPS;
    const int steps = lane % 8 + lane / 16 * 8, columns = lane / 8 % 2 * 8;
    dietcode_ldmatrix_x4<TURNED>(a, TURNED ? rows.at(steps, columns) : rows.at(down, right));
  } else if constexpr (!TURNED) {
    dietcode_ldmatrix_x4<false>(a, rows.at(lane % 16, lane / 16 * STEPS));
  } else {
    DIETCODE_UNROLL
    for (int i = 0; i < 4; ++i)
      a[i] = __float_as_uint(dietcode_lane_element(rows.at(lane % 4 + i / 2 * 4, lane / 4 + i % 2 * 8)));
  }
}

/* 8 columns: upper half, lower half. */
template <bool TURNED, class Rows>
__device__ __forceinline__ void dietcode_load_b(unsigned *b, const Rows &rows, int lane) {
  using T = typename Rows::Element;
  constexpr int STEPS = dietcode_operand<T>::STEPS;
  if constexpr (sizeof(T) == 2) {
    dietcode_ldmatrix_x2<TURNED>(b, TURNED ? rows.at(lane % 16, 0) : rows.at(lane % 8, lane / 8 % 2 * STEPS));
  } else if constexpr (!TURNED) {
    dietcode_ldmatrix_x2<false>(b, rows.at(lane % 8, lane / 8 % 2 * STEPS));
  } else {
    DIETCODE_UNROLL
    for (int i = 0; i < 2; ++i) b[i] = __float_as_uint(dietcode_lane_element(rows.at(lane % 4 + i * 4, lane / 4)));
  }
}

/* Two neighbours of that kind, whose registers follow each other. */
template <bool TURNED, class Rows>
__device__ __forceinline__ void dietcode_load_b_pair(unsigned *both, const Rows &rows, int lane) {
  using T = typename Rows::Element;
  constexpr int STEPS = dietcode_operand<T>::STEPS;
  if constexpr (sizeof(T) == 2) {
    const int steps = lane % 8 + lane / 8 % 2 * 8, columns = lane / 16 * 8;
    const int across = lane % 8 + lane / 16 * 8, down = lane / 8 % 2 * STEPS;
    dietcode_ldmatrix_x4<TURNED>(both, TURNED ? rows.at(steps, columns) : rows.at(across, down));
  } else if constexpr (!TURNED) {
    dietcode_ldmatrix_x4<false>(both, rows.at(lane % 8 + lane / 16 * 8, lane / 8 % 2 * STEPS));
  } else {
    DIETCODE_UNROLL
    for (int i = 0; i < 4; ++i)
      both[i] = __float_as_uint(dietcode_lane_element(rows.at(lane % 4 + i % 2 * 4, lane / 4 + i / 2 * 8)));
  }
}

/* The same of rows that lie in their order. */
template <bool TURNED, class T>
__device__ __forceinline__ void dietcode_load_a(unsigned *a, const T *corner, int stride, int lane) {
  dietcode_load_a<TURNED>(a, dietcode_rows<T>{corner, stride}, lane);
}
template <bool TURNED, class T>
__device__ __forceinline__ void dietcode_load_b(unsigned *b, const T *corner, int stride, int lane) {
  dietcode_load_b<TURNED>(b, dietcode_rows<T>{corner, stride}, lane);
}
template <bool TURNED, class T>
__device__ __forceinline__ void dietcode_load_b_pair(unsigned *both, const T *corner, int stride, int lane) {
  dietcode_load_b_pair<TURNED>(both, dietcode_rows<T>{corner, stride}, lane);
}

#endif
