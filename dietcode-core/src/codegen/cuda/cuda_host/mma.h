/* ldmatrix and mma: 32 lanes exchange pieces of matrices, in the layouts of PTX, which dietcode.cuh writes down. */
#ifndef DIETCODE_HOST_MMA_H
#define DIETCODE_HOST_MMA_H

namespace dietcode_host {

constexpr unsigned WHOLE_WARP = 0xffffffffu;

/* Whether what is read at once for a matrix instruction, rows by ldmatrix or an element by each lane, and meets in a bank of shared memory, which
 * costs time but is no mistake, ends the launch. */
#ifdef DIETCODE_FORBID_BANK_CONFLICTS
constexpr bool FORBID_BANK_CONFLICTS = true;
#else
constexpr bool FORBID_BANK_CONFLICTS = false;
#endif

/* COUNT matrices of 8 x 8 elements of 16 bits; lane 8m + r brings the address of row r of matrix m. */
template <bool TRANS, int COUNT> void ldmatrix(const char *name, Site site, unsigned *d, const void *row) {
  if (lane_of(*block->running) < 8 * COUNT) {
    require_aligned(row, 16, "a row of ldmatrix");
    require_inside(row, 16, "ldmatrix");
  }
  struct Lane {
    const void *row;
    unsigned *d;
  } mine = {row, d};
  meet(name, site, WHOLE_WARP, mine, [](Lane *const(&lanes)[32]) {
    const Noted noted;
    const Thread *const first = block->running - lane_of(*block->running);
    count_rows(8 * COUNT, [&](unsigned lane) { return lanes[lane]->row; });
    for (unsigned m = 0; m < COUNT; ++m) {
      unsigned short matrix[8][8];
      for (unsigned r = 0; r < 8; ++r) {
        require_shared(first[8 * m + r], lanes[8 * m + r]->row, "ldmatrix");
        noted(first[8 * m + r], lanes[8 * m + r]->row, 16, Kind::read, first[8 * m + r].site);
        memcpy(matrix[r], lanes[8 * m + r]->row, 16);
      }
      unsigned banks = 0;
      for (unsigned r = 0; r < 8; ++r) banks |= 1u << reinterpret_cast<uintptr_t>(lanes[8 * m + r]->row) % 128 / 16;
      if (FORBID_BANK_CONFLICTS && banks != 0xff) fail("8 rows of ldmatrix lie in the quads of banks 0x%02x, expected 0xff", banks);
      for (unsigned l = 0; l < 32; ++l) {
        const unsigned g = l / 4, t = l % 4;
        const unsigned low = TRANS ? matrix[2 * t][g] : matrix[g][2 * t];
        const unsigned high = TRANS ? matrix[2 * t + 1][g] : matrix[g][2 * t + 1];
        lanes[l]->d[m] = low | high << 16;
      }
    }
  });
}

#if defined(DIETCODE_HOST_APART) || defined(DIETCODE_HOST_EMULATOR)
#ifdef DIETCODE_HOST_APART
#define DIETCODE_HOST_LDMATRIX extern template void ldmatrix
#else
#define DIETCODE_HOST_LDMATRIX template void ldmatrix
#endif
DIETCODE_HOST_LDMATRIX<false, 2>(const char *, Site, unsigned *, const void *);
DIETCODE_HOST_LDMATRIX<false, 4>(const char *, Site, unsigned *, const void *);
DIETCODE_HOST_LDMATRIX<true, 2>(const char *, Site, unsigned *, const void *);
DIETCODE_HOST_LDMATRIX<true, 4>(const char *, Site, unsigned *, const void *);
#undef DIETCODE_HOST_LDMATRIX
#endif

/* 32 lanes load an element of 4 bytes each. */
inline void require_banks_apart(Site site, const void *element) {
  meet("dietcode_lane_element", site, WHOLE_WARP, element, [](const void **const(&lanes)[32]) {
    unsigned banks = 0;
    for (const void **lane : lanes) banks |= 1u << reinterpret_cast<uintptr_t>(*lane) / 4 % 32;
    if (banks != WHOLE_WARP) fail("32 elements lie in the banks 0x%08x, expected 0xffffffff", banks);
  });
}

/* One lane's fragments. */
struct MmaLane {
  float *d;
  const unsigned *a, *b;
};

/* d += a * b in float, one product after the other. */
template <int K> void multiply(MmaLane *const (&lanes)[32], const float (&a)[16][K], const float (&b)[K][8]) {
  float d[16][8];
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned i = 0; i < 4; ++i) d[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2] = lanes[l]->d[i];
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned k = 0; k < K; ++k)
      for (unsigned column = 0; column < 8; ++column) d[row][column] += a[row][k] * b[k][column];
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned i = 0; i < 4; ++i) lanes[l]->d[i] = d[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2];
}

/* m16n8k16 for elements of 16 bits. */
template <class T> void mma_16_bits(MmaLane *const (&lanes)[32]) {
  float a[16][16], b[16][8];
  const auto element = [](unsigned pair, unsigned which) {
    return dietcode_load(T{static_cast<unsigned short>(pair >> 16 * which)});
  };
  for (unsigned l = 0; l < 32; ++l) {
    const unsigned g = l / 4, t = l % 4;
    for (unsigned i = 0; i < 2; ++i) {
      for (unsigned r = 0; r < 4; ++r) a[g + r % 2 * 8][2 * t + r / 2 * 8 + i] = element(lanes[l]->a[r], i);
      for (unsigned r = 0; r < 2; ++r) b[2 * t + r * 8 + i][g] = element(lanes[l]->b[r], i);
    }
  }
  multiply<16>(lanes, a, b);
}

/* m16n8k8 for tf32. */
inline void mma_tf32(MmaLane *const (&lanes)[32]) {
  float a[16][8], b[8][8];
  for (unsigned l = 0; l < 32; ++l) {
    const unsigned g = l / 4, t = l % 4;
    for (unsigned r = 0; r < 4; ++r) a[g + r % 2 * 8][t + r / 2 * 4] = __uint_as_float(lanes[l]->a[r]);
    for (unsigned r = 0; r < 2; ++r) b[t + r * 4][g] = __uint_as_float(lanes[l]->b[r]);
  }
  multiply<8>(lanes, a, b);
}

/* A device ignores the bits that tf32 has not: a value that was not rounded would be cut. */
inline void require_tf32(unsigned bits) {
  const float x = __uint_as_float(bits);
  if (x == x && (bits & 0x1fffu) != 0)
    fail("an operand of mma (0x%08x, %.9g) was not rounded by dietcode_tf32", bits, static_cast<double>(x));
}

}  // namespace dietcode_host

/* Bits of which an exclusive or is to be the sum. */
inline void dietcode_require_disjoint(int a, int b) {
  if ((a & b) != 0) dietcode_host::fail("0x%x and 0x%x have bits in common", static_cast<unsigned>(a), static_cast<unsigned>(b));
}

template <class T> T dietcode_lane_element(const T *p, dietcode_host::Site site = dietcode_host::Site::here()) {
  static_assert(sizeof(T) == 4, "banks have 4 bytes");
  if (dietcode_host::FORBID_BANK_CONFLICTS) dietcode_host::require_banks_apart(site, p);
  return *p;
}

template <class T> const T *dietcode_shared_element(const T *from, int a, int b, int c, int d) {
  return from + (a + b + c + d);
}

template <bool TRANS>
void dietcode_ldmatrix_x4(unsigned *d, const void *row, dietcode_host::Site site = dietcode_host::Site::here()) {
  dietcode_host::ldmatrix<TRANS, 4>("dietcode_ldmatrix_x4", site, d, row);
}
template <bool TRANS>
void dietcode_ldmatrix_x2(unsigned *d, const void *row, dietcode_host::Site site = dietcode_host::Site::here()) {
  dietcode_host::ldmatrix<TRANS, 2>("dietcode_ldmatrix_x2", site, d, row);
}

DIETCODE_HOST_FUNCTION void dietcode_mma(float *d, const unsigned *a, const unsigned *b, dietcode_f16,
                                         dietcode_host::Site site = dietcode_host::Site::here());
DIETCODE_HOST_FUNCTION void dietcode_mma(float *d, const unsigned *a, const unsigned *b, dietcode_bf16,
                                         dietcode_host::Site site = dietcode_host::Site::here());
DIETCODE_HOST_FUNCTION void dietcode_mma(float *d, const unsigned *a, const unsigned *b, float,
                                         dietcode_host::Site site = dietcode_host::Site::here());

#ifndef DIETCODE_HOST_APART
DIETCODE_HOST_FUNCTION void dietcode_mma(float *d, const unsigned *a, const unsigned *b, dietcode_f16, dietcode_host::Site site) {
  dietcode_host::MmaLane mine = {d, a, b};
  dietcode_host::meet("dietcode_mma", site, dietcode_host::WHOLE_WARP, mine,
                      [](dietcode_host::MmaLane *const(&lanes)[32]) { dietcode_host::mma_16_bits<dietcode_f16>(lanes); });
}
DIETCODE_HOST_FUNCTION void dietcode_mma(float *d, const unsigned *a, const unsigned *b, dietcode_bf16, dietcode_host::Site site) {
  dietcode_host::MmaLane mine = {d, a, b};
  dietcode_host::meet("dietcode_mma", site, dietcode_host::WHOLE_WARP, mine,
                      [](dietcode_host::MmaLane *const(&lanes)[32]) { dietcode_host::mma_16_bits<dietcode_bf16>(lanes); });
}
DIETCODE_HOST_FUNCTION void dietcode_mma(float *d, const unsigned *a, const unsigned *b, float, dietcode_host::Site site) {
  for (unsigned i = 0; i < 4; ++i) dietcode_host::require_tf32(a[i]);
  for (unsigned i = 0; i < 2; ++i) dietcode_host::require_tf32(b[i]);
  dietcode_host::MmaLane mine = {d, a, b};
  dietcode_host::meet("dietcode_mma", site, dietcode_host::WHOLE_WARP, mine,
                      [](dietcode_host::MmaLane *const(&lanes)[32]) { dietcode_host::mma_tf32(lanes); });
}
#endif

#endif
