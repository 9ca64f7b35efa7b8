/* The loops that are timed around calls of libraries, so that none of them pays for Python's calls. Each gives the seconds of n calls. */
#define _GNU_SOURCE
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define TIMED(n, call)                                                                                                                 \
    double start = now();                                                                                                              \
    for (long turn = 0; turn < (n); turn++) {                                                                                          \
        call;                                                                                                                          \
    }                                                                                                                                  \
    return now() - start

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112, PACKED = 151 };

/* batch products Y[m][n] = X[m][k] · W, with W as [k][n], or transposed as [n][k]. */
typedef struct {
    long batch, m, n, k, transposed, threads;
    const float *x, *w;
    float *y;
} product;

typedef void (*sgemm_t)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);

static void one(sgemm_t sgemm, const product *p, long at) {
    int w = p->transposed ? TRANSPOSE : NO_TRANSPOSE;
    sgemm(ROW_MAJOR, NO_TRANSPOSE, w, (int)p->m, (int)p->n, (int)p->k, 1.0f, p->x + at * p->m * p->k, (int)p->k, p->w + at * p->n * p->k,
          (int)(p->transposed ? p->k : p->n), 0.0f, p->y + at * p->m * p->n, (int)p->n);
}

/* A library without batches: they are shared over threads, on each of which it has one thread. */
static void all(sgemm_t sgemm, const product *p) {
    if (p->batch == 1) {
        one(sgemm, p, 0);
        return;
    }
#pragma omp parallel for schedule(static) num_threads((int)p->threads)
    for (long at = 0; at < p->batch; at++) {
        one(sgemm, p, at);
    }
}

double time_sgemm(long n, sgemm_t sgemm, const product *p) { TIMED(n, all(sgemm, p)); }

typedef void (*batch_t)(int, int, int, int, int, int, float, const float *, int, int, const float *, int, int, float, float *, int, int, int);

double time_batch(long n, batch_t sgemm, const product *p) {
    int w = p->transposed ? TRANSPOSE : NO_TRANSPOSE, M = (int)p->m, N = (int)p->n, K = (int)p->k;
    TIMED(n, sgemm(ROW_MAJOR, NO_TRANSPOSE, w, M, N, K, 1.0f, p->x, K, M * K, p->w, p->transposed ? K : N, N * K, 0.0f, p->y, N, M * N,
                   (int)p->batch));
}

typedef void (*compute_t)(int, int, int, int, int, int, const float *, int, const float *, int, float, float *, int);

/* W is what cblas_sgemm_pack has made of it. */
double time_packed(long n, compute_t sgemm, const product *p) {
    int M = (int)p->m, N = (int)p->n, K = (int)p->k;
    TIMED(n, sgemm(ROW_MAJOR, NO_TRANSPOSE, PACKED, M, N, K, p->x, K, p->w, p->transposed ? K : N, 0.0f, p->y, N));
}

/* oneDNN: a call is a few primitives, one after the other. */
typedef struct {
    int name;
    void *memory;
} argument;

typedef struct {
    void *primitive;
    int count;
    const argument *arguments;
} step;

typedef int (*execute_t)(void *, void *, int, const argument *);
typedef int (*wait_t)(void *);

static void carry_out(execute_t execute, wait_t wait, void *stream, const step *steps, long count) {
    for (long at = 0; at < count; at++) {
        execute(steps[at].primitive, stream, steps[at].count, steps[at].arguments);
    }
    wait(stream);
}

double time_steps(long n, execute_t execute, wait_t wait, void *stream, const step *steps, long count) {
    TIMED(n, carry_out(execute, wait, stream, steps, count));
}
