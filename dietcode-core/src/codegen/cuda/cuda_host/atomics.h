/* Atomic functions: atomic also among the threads of this process, which may have launched kernels of their own. */
#ifndef DIETCODE_HOST_ATOMICS_H
#define DIETCODE_HOST_ATOMICS_H

namespace dietcode_host {

/* T, where it is not to be deduced. */
template <class T> struct Same {
  using type = T;
};
template <class T> using As = typename Same<T>::type;

/* Replaces *at by change(*at); what it was before. */
template <class T, class F> DIETCODE_HOST_UNWATCHED T atomic_change(T *at, F change, Site site) {
  require_aligned(at, sizeof(T), "an atomic access");
  const Noted noted;
  noted(*block->running, at, sizeof(T), Kind::add, site);
  T before, after;
  __atomic_load(at, &before, __ATOMIC_RELAXED);
  do {
    after = change(before);
  } while (!__atomic_compare_exchange(at, &before, &after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return before;
}

}  // namespace dietcode_host

template <class T> T atomicAdd(T *at, dietcode_host::As<T> x, dietcode_host::Site site = dietcode_host::Site::here()) {
  return dietcode_host::atomic_change(at, [x](T before) { return static_cast<T>(before + x); }, site);
}
template <class T> T atomicMax(T *at, dietcode_host::As<T> x, dietcode_host::Site site = dietcode_host::Site::here()) {
  return dietcode_host::atomic_change(at, [x](T before) { return before < x ? x : before; }, site);
}
template <class T> T atomicMin(T *at, dietcode_host::As<T> x, dietcode_host::Site site = dietcode_host::Site::here()) {
  return dietcode_host::atomic_change(at, [x](T before) { return x < before ? x : before; }, site);
}
template <class T> T atomicExch(T *at, dietcode_host::As<T> x, dietcode_host::Site site = dietcode_host::Site::here()) {
  return dietcode_host::atomic_change(at, [x](T) { return x; }, site);
}
template <class T> T atomicCAS(T *at, dietcode_host::As<T> expected, dietcode_host::As<T> x, dietcode_host::Site site = dietcode_host::Site::here()) {
  return dietcode_host::atomic_change(at, [=](T before) { return before == expected ? x : before; }, site);
}

#endif
