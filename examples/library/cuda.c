/*
 * Calls a dense layer of a library on a CUDA device: on the emulated one, which is on every machine, and whose memory is the host's. In this
 * folder:
 *
 *     dietcode build-lib dense.json -o lib --name devices --cuda=sm_80,sm_90 --cuda-host
 *     cc -std=c99 cuda.c -Ilib -Llib -ldevices -Wl,-rpath,lib -o cuda
 *     ./cuda
 *
 * With a GPU the arrays come from cudaMalloc, DEVICES_CUDA_HOST is the number of the device, and the last argument one of its streams, after
 * which the program waits before it reads the output.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "devices.h"

enum { N = 256, K = 768, GAP = 3, MOST = 67 };

static float x[MOST][K + GAP], w[N][K], b[N], y[MOST][N];

/* Small integers: their sums are exact in any order, so that results can be compared to the bit. */
static void fill(float *data, size_t count, int modulus) {
    for (size_t at = 0; at < count; at++) data[at] = (float)((int)(at % (size_t)modulus) - modulus / 2);
}

static float expected(int64_t i, int64_t j) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += x[i][k] * w[j][k];
    return sum + b[j] > 0.0f ? sum + b[j] : 0.0f;
}

static int call(int64_t m, int64_t k, int device, void *stream) {
    const int64_t x_shape[] = {m, k}, w_shape[] = {N, K}, b_shape[] = {N}, y_shape[] = {m, N};
    const int64_t x_strides[] = {K + GAP, 1}; /* elements lie between its rows that are no part of it */
    return devices_dense_cuda(x[0], x_shape, x_strides, w[0], w_shape, NULL, b, b_shape, NULL, y[0], y_shape, NULL, device, stream);
}

static int refused(int status, int expected) {
    printf("refused, as it should be: %s\n", devices_error_message());
    return status == expected;
}

int main(void) {
    printf("%s\n", devices_version());
    fill(&x[0][0], sizeof x / sizeof(float), 7);
    fill(&w[0][0], sizeof w / sizeof(float), 5);
    fill(b, N, 9);
    const int64_t rows[] = {1, 16, MOST};
    for (int at = 0; at < 3; at++) {
        const int64_t m = rows[at];
        if (call(m, K, DEVICES_CUDA_HOST, NULL)) {
            fprintf(stderr, "%s\n", devices_error_message());
            return EXIT_FAILURE;
        }
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < N; j++)
                if (y[i][j] != expected(i, j)) {
                    fprintf(stderr, "y[%" PRId64 "][%" PRId64 "] is %g, expected %g\n", i, j, y[i][j], expected(i, j));
                    return EXIT_FAILURE;
                }
        printf("M = %2" PRId64 ": as the loops say\n", m);
    }
    /* No machine has so many devices, and without a driver there is none. */
    const int are_refused = refused(call(1, K - 1, DEVICES_CUDA_HOST, NULL), DEVICES_INPUT) &&
                            refused(call(1, K, DEVICES_CUDA_HOST, x), DEVICES_INPUT) &&
                            refused(call(1, K, 4096, NULL), DEVICES_UNAVAILABLE);
    return are_refused ? EXIT_SUCCESS : EXIT_FAILURE;
}
