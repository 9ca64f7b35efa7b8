/* What a call on a device asks of libcuda, of a machine with two devices on which nothing runs: it notes what it is asked. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_FOUND = 500, DEVICES = 2 };

static char notes[1 << 20];
static __thread void *current;

static size_t noted;

#define NOTE(...) (noted += (size_t)snprintf(notes + noted, sizeof notes - noted, __VA_ARGS__))

const char *driver_notes(void) { return notes; }

/* Device 0 has 64 KiB from 0x10000 on, device 1 those behind; what is allocated is in the upper half of the former, and never used again. */
static char memory[DEVICES << 16];
static uint64_t allocated = 0x18000;
static int capturing;

void driver_set_capturing(int is) { capturing = is; }

int cuDriverGetVersion(int *version) { return *version = 13000, SUCCESS; }
int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGetCount(int *count) { return *count = DEVICES, SUCCESS; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, SUCCESS; }
int cuDeviceGetName(char *name, int len, int device) { return snprintf(name, (size_t)len, "no device %d", device), SUCCESS; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = (size_t)1 << 30, device < 0; }

/* Whatever is not asked for by name is large enough. */
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? 8 : attribute == 76 ? 0 : attribute == 115 ? 1 : 1 << 16;
    return device < 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = (void *)(uintptr_t)(0x100 + device), SUCCESS; }
int cuCtxGetCurrent(void **context) { return *context = current, SUCCESS; }
int cuCtxSetCurrent(void *context) { return current = context, SUCCESS; }

int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
    const int64_t device = (int64_t)(address >> 16) - 1;
    if (attribute != 9 || device < 0 || device >= DEVICES) return INVALID_VALUE;
    return *(int *)value = (int)device, SUCCESS;
}

int cuModuleLoadData(void **module, const void *image) { return *module = (void *)image, SUCCESS; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = (void *)(strcmp(name, "halves") ? "another" : "halves");
    return module ? SUCCESS : NOT_FOUND;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) { return *value = 0, attribute < 0 || !function; }
int cuFuncSetAttribute(void *function, int attribute, int value) { return attribute < 0 || value < 0 || !function; }
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t shared, unsigned flags) {
    return *blocks = 2, !function || threads < 1 || shared > 1 << 16 || flags;
}

int cuEventCreate(void **event, unsigned flags) { return *event = (void *)(uintptr_t)(0x1000 + flags), SUCCESS; }
int cuEventDestroy_v2(void *event) { return !event; }
int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream) {
    NOTE("allocated for %p\n", stream);
    *address = allocated;
    allocated += (bytes + 255) / 256 * 256;
    return bytes == 0 || allocated > 0x20000;
}
int cuMemFreeAsync(uint64_t address, void *stream) {
    NOTE("freed for %p\n", stream);
    return address < 0x18000 || address >= allocated;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    NOTE("written for %p\n", stream);
    return memcpy(memory + (to - 0x10000), from, bytes), SUCCESS;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    NOTE("read for %p\n", stream);
    return memcpy(to, memory + (from - 0x10000), bytes), SUCCESS;
}
int cuStreamSynchronize(void *stream) { return NOTE("waited for %p\n", stream), SUCCESS; }
int cuStreamIsCapturing(void *stream, int *status) { return *status = capturing, (uintptr_t)stream == 1; }

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **parameters, void **extra) {
    NOTE("launched in %p for %p with x at %p\n", current, stream, *(void **)parameters[0]);
    return !function || gx * gy * gz == 0 || bx * by * bz != 64 || shared != 1024 || extra;
}
