/* Carries out a block: each thread runs until it waits, warp by warp, until all wait at the same barrier or have exited. */
#ifndef DIETCODE_HOST_SCHEDULE_H
#define DIETCODE_HOST_SCHEDULE_H

#ifndef DIETCODE_HOST_APART
namespace dietcode_host {

/* The life of a fiber. */
inline void run_thread() {
  try {
    block->kernel(block->arguments);
    require_no_copies();
  } catch (const Failed &) {
    /* block->error says why. */
  } catch (...) {
    block->error = block->name(*block->running) + ": the kernel threw a C++ exception";
  }
  block->running->state = State::exited;
  block->wait();
}

/* Resumes a thread until it waits. */
inline void resume(Block &block, Thread &thread) {
  threadIdx = thread.index;
  block.running = &thread;
  block.scheduler.change_to(thread.fiber);
  block.running = nullptr;
}

/* A thread of this warp waits for one that will not come: says which. */
inline std::string absent_from_warp(const Block &block, unsigned first, unsigned end) {
  for (unsigned number = first; number < end; ++number) {
    const Thread &thread = block.threads[number];
    if (thread.state != State::at_warp_function) continue;
    const std::string waits = block.excuse(thread);
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((thread.function.mask >> lane & 1) == 0) continue;
      if (first + lane >= end)
        return block.name() + ": " + waits + text(", but its warp has only %u threads", end - first);
      const Thread &other = block.threads[first + lane];
      if (other.state != State::at_warp_function || !other.function.meets(thread.function))
        return block.name() + ": " + waits + ", but " + block.excuse(other);
    }
  }
  return "";
}

/* Runs the threads of a warp until none of them is ready. */
inline void run_warp(Block &block, unsigned first, unsigned end, const unsigned (&lanes)[32]) {
  for (bool ran = true; ran;) {
    ran = false;
    for (unsigned lane : lanes) {
      if (first + lane >= end || block.threads[first + lane].state != State::ready) continue;
      resume(block, block.threads[first + lane]);
      if (!block.error.empty()) return;
      ran = true;
    }
  }
}

/* Lets those go on that gave way; whether there are any. */
inline bool resume_those_who_gave_way(Block &block) {
  bool any = false;
  for (Thread &thread : block.threads) {
    if (thread.state != State::gives_way) continue;
    thread.state = State::ready;
    any = true;
  }
  return any;
}

/* Runs all threads until they wait at a barrier or have exited. */
inline void run_to_barrier(Block &block, const Order &order) {
  const unsigned count = static_cast<unsigned>(block.threads.size());
  const auto end = [count](unsigned warp) { return warp * 32 + 32 < count ? warp * 32 + 32 : count; };
  do {
    for (unsigned warp : order.warps)
      if (warp * 32 < count && block.error.empty()) run_warp(block, warp * 32, end(warp), order.lanes);
  } while (block.error.empty() && resume_those_who_gave_way(block));
  for (unsigned warp = 0; warp * 32 < count && block.error.empty(); ++warp)
    block.error = absent_from_warp(block, warp * 32, end(warp));
}

/* Every thread waits at a barrier or has exited: lets them go on, or says who is absent. False: all have exited. */
inline bool pass_barrier(Block &block) {
  count_interval();
  const Thread *first = nullptr;
  for (const Thread &thread : block.threads)
    if (thread.state == State::at_barrier && first == nullptr) first = &thread;
  long long offset;
  if (block.shared->find_damage(&offset))
    block.error = block.name() + text(": byte %lld of dynamic shared memory, which has %zu bytes, was written before ", offset,
                                      block.shared->bytes) +
                  (first ? "the __syncthreads of " + text(first->site) : "the end");
  for (Watched *watched : {block.watched, block.static_shared})
    if (watched && block.error.empty()) block.error = watched->end_interval();
  if (first == nullptr) return false;
  for (const Thread &thread : block.threads)
    if (block.error.empty() && (thread.state != State::at_barrier || thread.site != first->site))
      block.error = block.name() + ": " + block.excuse(*first) + ", but " + block.excuse(thread);
  for (Thread &thread : block.threads) thread.state = State::ready;
  ++block.interval;
  return true;
}

/* Places the block's threads at the kernel's beginning. */
inline void begin_block(Block &block, const Stacks &stacks) {
  block.shared->clear();
  block.interval = 0;
  block.acquired.clear();
  for (unsigned number = 0; number < block.threads.size(); ++number) {
    Thread &thread = block.threads[number];
    thread.index = {number % blockDim.x, number / blockDim.x % blockDim.y, number / blockDim.x / blockDim.y};
    thread.state = State::ready;
    thread.copies.clear();
    thread.groups = 0;
    thread.number = number;
    thread.unwatched = 0;
    thread.is_fenced = false;
    memset(thread.seen, 0, sizeof thread.seen);
    thread.stack = {stacks[number], stacks[number] + Stacks::BYTES};
    thread.fiber.prepare(stacks[number], Stacks::BYTES, run_thread);
  }
}

/* Carries out one block; block.error says how it failed. */
inline void run_block(Block &block, const Stacks &stacks, Order &order) {
  begin_block(block, stacks);
  do {
    order.next();
    run_to_barrier(block, order);
  } while (block.error.empty() && pass_barrier(block));
}

}  // namespace dietcode_host
#endif

inline void __syncthreads(dietcode_host::Site site = dietcode_host::Site::here()) {
  dietcode_host::Thread &thread = *dietcode_host::block->running;
  thread.state = dietcode_host::State::at_barrier;
  thread.site = site;
  dietcode_host::block->wait();
}

#endif
