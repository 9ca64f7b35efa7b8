/* Launching kernels: the limits of a launch, its blocks, its outcome. */
#ifndef DIETCODE_HOST_LAUNCH_H
#define DIETCODE_HOST_LAUNCH_H

namespace dietcode_host {

/* Launches kernel(arguments); the sentence that says how it failed. */
DIETCODE_HOST_FUNCTION std::string launch(dim3 grid, dim3 shape, unsigned long long shared_bytes, void (*kernel)(void *), void *arguments,
                                          Tensors *tensors = nullptr);

/* A kernel of any type, and what calls it with the values that stand at addresses. */
struct Kernel {
  void (*function)();
  void (*call)(void (*function)(), void *const *values);
};

/* Its parameters: which of them are pointers, and to what a kernel may write. */
struct Parameters {
  const bool *are_pointers, *are_mutable;
  size_t count;
};

/* Launches a kernel on arguments, as DIETCODE_ENTRY has it. */
DIETCODE_HOST_FUNCTION int launch_kernel(const Kernel &kernel, const Parameters &parameters, dim3 grid, dim3 shape,
                                         unsigned long long shared_bytes, const dietcode_argument *arguments, char *error,
                                         unsigned long long error_len);

#ifndef DIETCODE_HOST_APART
/* What is wrong with one extent of a grid or block. */
inline std::string beyond(const char *what, unsigned extent, unsigned limit) {
  if (extent >= 1 && extent <= limit) return "";
  return text("%s is %u; CUDA allows 1 to %u", what, extent, limit);
}

/* The limits of compute capability 9.0, which no other exceeds. */
inline std::string check_launch(dim3 grid, dim3 shape, unsigned long long shared_bytes) {
  if (block != nullptr) return "a kernel cannot launch a kernel here";
  for (const std::string &wrong :
       {beyond("gridDim.x", grid.x, 2147483647), beyond("gridDim.y", grid.y, 65535), beyond("gridDim.z", grid.z, 65535),
        beyond("blockDim.x", shape.x, 1024), beyond("blockDim.y", shape.y, 1024), beyond("blockDim.z", shape.z, 64)})
    if (!wrong.empty()) return wrong;
  const unsigned threads = shape.x * shape.y * shape.z;
  if (threads > 1024) return text("a block has %u threads; CUDA allows 1024", threads);
  if (shared_bytes > 232448) return text("a block has %llu bytes of dynamic shared memory; CUDA allows 232448", shared_bytes);
  return "";
}

/* The number in DIETCODE_HOST_SEED, or one for each launch of a process; what is wrong with it. */
DIETCODE_HOST_UNWATCHED inline std::string read_seed(uint64_t *seed) {
  static uint64_t launches = 0;
  const char *setting = getenv("DIETCODE_HOST_SEED");
  char *end = nullptr;
  *seed = setting ? strtoull(setting, &end, 10) : __atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
  if (setting == nullptr || (*setting >= '0' && *setting <= '9' && *end == 0)) return "";
  return text("the environment variable DIETCODE_HOST_SEED is `%s`, not a number", setting);
}

/* Makes a block the one that this thread carries out. */
struct Current {
  explicit Current(Block &it) { block = &it; }
  ~Current() { block = nullptr; }
};

/* Runs all blocks of a launch; the sentence that says how it failed. */
inline std::string run_grid(void (*kernel)(void *), void *arguments, size_t shared_bytes, uint64_t seed, Tensors *tensors) {
  const size_t threads = static_cast<size_t>(blockDim.x) * blockDim.y * blockDim.z;
  const Stacks stacks(threads);
  SharedMemory shared(shared_bytes);
  Watched watched("dynamic shared memory", shared.begin(), shared_bytes, true, true, shared.low(), shared.high());
  Order order(seed);
  Block it = {};
  it.threads.resize(threads);
  it.shared = &shared;
  it.watched = &watched;
  char *locals;
  size_t bytes;
  std::unique_ptr<Watched> static_shared;
  if (WATCHES && find_thread_locals(&locals, &bytes))
    static_shared = std::make_unique<Watched>("static shared memory", locals, bytes, true, false, locals, locals + bytes);
  it.static_shared = static_shared.get();
  const auto range = [](auto &own) { return Range{reinterpret_cast<char *>(&own), reinterpret_cast<char *>(&own + 1)}; };
  Range *own = it.own;
  for (const Range &of : {range(threadIdx), range(blockIdx), range(blockDim), range(gridDim), range(block)}) *own++ = of;
  it.tensors = tensors;
  it.kernel = kernel;
  it.arguments = arguments;
  const Current current(it);
  const uint64_t blocks = static_cast<uint64_t>(gridDim.x) * gridDim.y * gridDim.z;
  BlockOrder block_order(blocks, seed);
  for (uint64_t done = 0; done < blocks && it.error.empty(); ++done) {
    const uint64_t n = block_order.next();
    it.number = static_cast<uint32_t>(n) + 1;
    it.index = Block::index_of(n);
    blockIdx = it.index;
    run_block(it, stacks, order);
  }
  if (!it.error.empty()) it.error += text(" (DIETCODE_HOST_SEED=%llu)", static_cast<unsigned long long>(seed));
  return it.error;
}

DIETCODE_HOST_FUNCTION std::string launch(dim3 grid, dim3 shape, unsigned long long shared_bytes, void (*kernel)(void *), void *arguments,
                                          Tensors *tensors) {
  std::string wrong = check_launch(grid, shape, shared_bytes);
  uint64_t seed;
  if (wrong.empty()) wrong = read_seed(&seed);
  if (!wrong.empty()) return wrong;
  gridDim = grid;
  blockDim = shape;
  try {
    return run_grid(kernel, arguments, shared_bytes, seed, tensors);
  } catch (const std::bad_alloc &) {
    return "no memory for the stacks and the shared memory of a block";
  }
}

DIETCODE_HOST_FUNCTION int launch_kernel(const Kernel &kernel, const Parameters &parameters, dim3 grid, dim3 shape,
                                         unsigned long long shared_bytes, const dietcode_argument *arguments, char *error,
                                         unsigned long long error_len) {
  struct Called {
    const Kernel &kernel;
    void *const *values;
  };
  const auto call = [](void *it) {
    const Called &called = *static_cast<const Called *>(it);
    called.kernel.call(called.kernel.function, called.values);
  };
  std::string wrong;
  try {
    Tensors tensors(arguments, parameters.are_pointers, parameters.are_mutable, parameters.count);
    Called called = {kernel, tensors.addresses()};
    wrong = launch(grid, shape, shared_bytes, call, &called, &tensors);
    tensors.give_back();
  } catch (const std::bad_alloc &) {
    wrong = "no memory for copies of the tensors";
  }
  if (error_len > 0) snprintf(error, error_len, "%s", wrong.c_str());
  return wrong.empty() ? 0 : 1;
}
#endif

/* A kernel on values, as DIETCODE_LAUNCH has them. */
template <class... P, class... A>
std::string launch_values(void (*kernel)(P...), dim3 grid, dim3 shape, unsigned long long shared_bytes, A... values) {
  auto body = [&] { kernel(static_cast<P>(values)...); };
  return launch(grid, shape, shared_bytes, [](void *it) { (*static_cast<decltype(body) *>(it))(); }, &body);
}

/* A kernel on the addresses of its parameters' values, as cuLaunchKernel has them, but for those of tensors. */
template <class... P, size_t... I>
int launch_addresses(void (*kernel)(P...), dim3 grid, dim3 shape, unsigned long long shared_bytes, const dietcode_argument *arguments,
                     char *error, unsigned long long error_len, std::index_sequence<I...>) {
  const bool are_pointers[] = {std::is_pointer_v<P>..., false}, are_mutable[] = {!std::is_const_v<std::remove_pointer_t<P>>..., false};
  const auto call = [](void (*function)(), void *const *values) {
    reinterpret_cast<void (*)(P...)>(function)(*static_cast<P *>(values[I])...);
  };
  return launch_kernel({reinterpret_cast<void (*)()>(kernel), call}, {are_pointers, are_mutable, sizeof...(P)}, grid, shape, shared_bytes,
                       arguments, error, error_len);
}

template <class... P>
int launch_entry(void (*kernel)(P...), dim3 grid, dim3 shape, unsigned long long shared_bytes,
                 const dietcode_argument *arguments, char *error, unsigned long long error_len) {
  return launch_addresses(kernel, grid, shape, shared_bytes, arguments, error, error_len, std::index_sequence_for<P...>());
}

}  // namespace dietcode_host

/* Launches a kernel on values; a std::string says how it failed, and is empty if it did not. */
#define DIETCODE_LAUNCH(kernel, grid, block, shared_bytes, ...) \
  dietcode_host::launch_values(kernel, grid, block, shared_bytes, ##__VA_ARGS__)

/* int <symbol>_host(…) launches kernel `symbol` on args, one for each of its parameters. 0, or another number and a sentence in `error`,
 * cut to error_len bytes with the final zero. */
#define DIETCODE_ENTRY(symbol)                                                                                          \
  extern "C" __attribute__((visibility("default"))) int symbol##_host(                                                  \
      unsigned grid, unsigned block, unsigned long long shared_bytes, const dietcode_argument *args, char *error,       \
      unsigned long long error_len) {                                                                                   \
    return dietcode_host::launch_entry(symbol, grid, block, shared_bytes, args, error, error_len);                      \
  }

#endif
