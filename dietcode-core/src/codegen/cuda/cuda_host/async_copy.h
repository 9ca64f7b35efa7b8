/* cp.async: what a thread copies into shared memory is poison there until that thread has waited for its group. */
#ifndef DIETCODE_HOST_ASYNC_COPY_H
#define DIETCODE_HOST_ASYNC_COPY_H

namespace dietcode_host {

/* Begins a copy of the running thread: of the `whole` bytes behind `to`, `bytes` come from `from`, and the others are zero. */
DIETCODE_HOST_FUNCTION void begin_copy(void *to, const void *from, unsigned whole, size_t bytes, Site site, const void *code);
/* Carries out a thread's copies of the groups before `group`, in the order they were issued. */
DIETCODE_HOST_FUNCTION void finish_copies(Thread &thread, unsigned group);

#ifndef DIETCODE_HOST_APART
DIETCODE_HOST_FUNCTION void begin_copy(void *to, const void *from, unsigned whole, size_t bytes, Site site, const void *code) {
  require_aligned(to, static_cast<int>(whole), "cp.async");
  require_aligned(from, static_cast<int>(whole), "cp.async");
  require_inside(to, whole, "cp.async");
  Thread &thread = *block->running;
  const Noted noted;
  require_shared(thread, to, "cp.async");
  noted(thread, from, bytes, Kind::read, site);
  noted(thread, to, whole, Kind::copy, site);
  touch(thread, to, whole, true, true, code);
  AsyncCopy copy = {static_cast<char *>(to), whole, thread.groups, {}};
  memcpy(copy.data, from, bytes);
  poison(to, whole);
  thread.copies.push_back(copy);
}

DIETCODE_HOST_FUNCTION void finish_copies(Thread &thread, unsigned group) {
  const Noted noted;
  size_t done = 0;
  for (; done < thread.copies.size() && thread.copies[done].group < group; ++done) {
    const AsyncCopy &copy = thread.copies[done];
    noted(thread, copy.to, copy.bytes, Kind::write, {nullptr, 0});
    memcpy(copy.to, copy.data, copy.bytes);
  }
  thread.copies.erase(thread.copies.begin(), thread.copies.begin() + static_cast<ptrdiff_t>(done));
}

/* The running thread is about to exit. */
inline void require_no_copies() {
  if (!block->running->copies.empty())
    fail("exits before it waits for cp.async into %s: %zu copies are still under way",
         place(block->running->copies[0].to).c_str(), block->running->copies.size());
}
#endif

}  // namespace dietcode_host

template <int BYTES>
DIETCODE_HOST_COUNTED void dietcode_cp_async(void *to, const void *from, int bytes, dietcode_host::Site site = dietcode_host::Site::here()) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
  dietcode_host::begin_copy(to, from, BYTES, static_cast<size_t>(bytes), site, __builtin_return_address(0));
}

inline void dietcode_commit() { ++dietcode_host::block->running->groups; }

/* What is waited for arrives as late as it can: until the others have come as far as they can, they see it as poison. */
template <int N> void dietcode_wait() {
  dietcode_host::Thread &thread = *dietcode_host::block->running;
  if (thread.copies.empty() || thread.copies[0].group + N >= thread.groups) return;
  thread.state = dietcode_host::State::gives_way;
  dietcode_host::block->wait();
  dietcode_host::finish_copies(thread, thread.groups - N);
}

#endif
