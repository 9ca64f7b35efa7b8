/*
 * Calls a dense layer of a library that dietcode has made, and compares it with its loops. In this folder:
 *
 *     dietcode build-lib dense.json conv2d.json scores.json -o lib
 *     cc -std=c99 main.c -Ilib -Llib -lkernels -Wl,-rpath,lib -o main
 *     ./main
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

enum { N = 256, K = 768, GAP = 3, MOST = 200 };

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

int main(void) {
    printf("%s\n", kernels_version());
    fill(&x[0][0], sizeof x / sizeof(float), 7);
    fill(&w[0][0], sizeof w / sizeof(float), 5);
    fill(b, N, 9);
    const int64_t rows[] = {1, 16, 37, MOST};
    for (int at = 0; at < 4; at++) {
        const int64_t m = rows[at];
        const int64_t x_shape[] = {m, K}, w_shape[] = {N, K}, b_shape[] = {N}, y_shape[] = {m, N};
        const int64_t x_strides[] = {K + GAP, 1}; /* elements lie between its rows that are no part of it */
        if (kernels_dense(x[0], x_shape, x_strides, w[0], w_shape, NULL, b, b_shape, NULL, y[0], y_shape, NULL, 0)) {
            fprintf(stderr, "%s\n", kernels_error_message());
            return EXIT_FAILURE;
        }
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < N; j++)
                if (y[i][j] != expected(i, j)) {
                    fprintf(stderr, "y[%" PRId64 "][%" PRId64 "] is %g, expected %g\n", i, j, y[i][j], expected(i, j));
                    return EXIT_FAILURE;
                }
        printf("M = %3" PRId64 ": as the loops say\n", m);
    }
    const int64_t x_shape[] = {MOST, K}, w_shape[] = {N, K + 1}, b_shape[] = {N}, y_shape[] = {MOST, N};
    if (kernels_dense(x[0], x_shape, NULL, w[0], w_shape, NULL, b, b_shape, NULL, y[0], y_shape, NULL, 0) != KERNELS_INPUT)
        return EXIT_FAILURE;
    printf("%s\n", kernels_error_message());
    return EXIT_SUCCESS;
}
