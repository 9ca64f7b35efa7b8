/* CUDA C++ on a CPU, for tests on machines without a GPU: target `cuda-host`. Included by dietcode.cuh where the compiler is g++ or
 * clang++ (-std=c++17 -x c++), and by nothing else.
 *
 * What a kernel may rely on is carried out as CUDA documents it, and what it may not rely on is made to show:
 *
 *   blocks      one after the other, in the thread that launches. Different threads may launch at the same time.
 *   threads     fibers that change only at barriers and at functions of a warp, in an order that differs from phase to phase,
 *               so that a missing barrier shows in the result. DIETCODE_HOST_SEED chooses the orders.
 *   memory      shared memory starts as NaN, and so does what cp.async will write, until the thread waits for it.
 *   mistakes    a thread that misses a barrier or a warp's function, a misaligned vector, a write past shared memory, a copy that
 *               nobody waits for, __trap, assert: the launch ends with a sentence that names block and thread.
 *   accesses    compiled with -fsanitize=thread: what lies outside of a tensor or of shared memory, what nobody has written, and
 *               what another thread accesses with nothing between, ends the launch with a sentence that names both, see accesses.h.
 *   banks       with DIETCODE_COUNT_WAVEFRONTS before the include, what shared memory would take is counted, see wavefronts.h.
 *
 * Only dynamic shared memory can be poisoned and guarded: arrays under __shared__ are variables of the machine's thread here.
 */
#ifndef DIETCODE_HOST_H
#define DIETCODE_HOST_H

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#ifdef DIETCODE_COUNT_WAVEFRONTS
#include <array>
#include <map>
#include <set>
#include <tuple>
#endif

#include "keywords.h"
#include "types.h"
/* Libraries of kernels that are loaded into one process keep their emulators apart. */
#pragma GCC visibility push(hidden)
#include "numbers.h"
#include "fibers.h"
#include "order.h"
#include "block.h"
#include "shared_memory.h"
#include "wavefronts.h"
#include "accesses.h"
#include "async_copy.h"
#include "schedule.h"
#include "warp.h"
#include "mma.h"
#include "atomics.h"
#include "launch.h"
#pragma GCC visibility pop

#endif
