// ldmatrix of a tile in shared memory, whose rows the test permutes.
#include "dietcode.cuh"

#define LDMATRIX(symbol, function, COUNT, TRANS)                                                            \
  extern "C" __global__ void symbol(unsigned *to, const unsigned short *tile, const int *row_of_lane) {     \
    DIETCODE_DYNAMIC_SHARED(bytes)                                                                          \
    unsigned short *shared = reinterpret_cast<unsigned short *>(bytes);                                     \
    for (int i = threadIdx.x; i < 64 * COUNT; i += blockDim.x) shared[i] = tile[i];                         \
    __syncthreads();                                                                                        \
    unsigned d[COUNT];                                                                                      \
    function<TRANS>(d, shared + row_of_lane[threadIdx.x % 32] * 8);                                         \
    for (int m = 0; m < COUNT; ++m) to[threadIdx.x * COUNT + m] = d[m];                                     \
  }                                                                                                         \
  DIETCODE_ENTRY(symbol)
LDMATRIX(x4, dietcode_ldmatrix_x4, 4, false)
LDMATRIX(x4_trans, dietcode_ldmatrix_x4, 4, true)
LDMATRIX(x2, dietcode_ldmatrix_x2, 2, false)
LDMATRIX(x2_trans, dietcode_ldmatrix_x2, 2, true)
