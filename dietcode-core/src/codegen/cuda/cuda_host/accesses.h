/* What threads do to memory that others see: every access, against the memory's extent and against what other threads do.
 *
 * With -fsanitize=thread a compiler calls a function before each access; the functions stand at the end of this file, in place of the
 * sanitizer's library. For each word of shared memory and of the tensors they keep who accessed it last, where, and in which interval between
 * barriers. Two accesses by different threads of which one writes are a race if no barrier stands between them, nor a __syncwarp
 * between its lanes; between blocks of a launch nothing does but a __threadfence before an atomic function of the one and an atomic function
 * of the other. What cp.async writes is not read before it was waited for, nor an array under __shared__ before a thread of the block
 * has written it; dynamic shared memory is poison until then.
 *
 * What is told is wrong. Two things are not seen: between blocks, by which atomic variable they meet, and, where lanes of a warp meet in groups that
 * change, some of their races.
 *
 * Source of the rules: the memory consistency model of PTX ISA 9.0, section 8.
 */
#ifndef DIETCODE_HOST_ACCESSES_H
#define DIETCODE_HOST_ACCESSES_H

namespace dietcode_host {

#ifdef DIETCODE_HOST_WATCHES
constexpr bool WATCHES = true;
#else
constexpr bool WATCHES = false;
#endif

/* `copy`: cp.async writes until its thread has waited for it. `add`: an atomic function. */
enum class Kind : uint8_t { none, read, write, copy, add };

/* Notes an access of a thread of the block that is carried out. */
DIETCODE_HOST_FUNCTION void note(Block &block, const Thread &thread, const char *at, size_t size, Kind kind, int line, const void *place);
/* Ends the launch if a function takes an address of shared memory that is of something else. */
DIETCODE_HOST_FUNCTION void require_shared(const Thread &thread, const void *p, const char *what);

/* What a function of CUDA does to memory for a thread, which the compiler does not tell of while there is one of these. */
class Noted {
  Thread &thread;

public:
  Noted() : thread(*block->running) { ++thread.unwatched; }
  ~Noted() { --thread.unwatched; }

  void operator()(const Thread &of, const void *p, size_t size, Kind kind, Site site) const {
    if (WATCHES && size > 0) note(*block, of, static_cast<const char *>(p), size, kind, site.line, site.file);
  }
};

#ifndef DIETCODE_HOST_APART
inline const char *verb(Kind kind) {
  return kind == Kind::read ? "reads" : kind == Kind::add ? "changes atomically" : "writes";
}

/* An access to some bytes of a word. */
struct Access {
  Kind kind;
  uint8_t bytes;
  uint16_t thread;
  uint32_t block;
  uint32_t interval;
  uint32_t epoch;
  /* A file and a line, or, if that is 0, what stands behind the access in the machine code; nothing: what was waited for. */
  int line;
  const void *place;

  DIETCODE_HOST_UNWATCHED bool writes() const { return kind != Kind::read; }
  DIETCODE_HOST_UNWATCHED bool shares_warp(const Access &other) const { return thread / 32 == other.thread / 32; }
  /* Whether an earlier access of a block is carried out before this one, by the thread `by`. */
  DIETCODE_HOST_UNWATCHED bool comes_after(const Access &old, const Thread &by) const {
    return block == old.block && (interval != old.interval || thread == old.thread ||
                                  (shares_warp(old) && old.epoch < by.seen[old.thread % 32]));
  }
  DIETCODE_HOST_UNWATCHED bool conflicts(const Access &old, const Thread &by) const {
    return (bytes & old.bytes) != 0 && (writes() || old.writes()) && !(kind == Kind::add && old.kind == Kind::add) &&
           !comes_after(old, by);
  }
};

/* The accesses to a word that may still meet others. Of each byte these are the last writing and, of readings and of additions that nothing
 * orders, two: of different warps, whose like meets every other thread, or else of different lanes. What one block has done meets every
 * later one, so that of an earlier block one is enough. */
struct Word {
  static constexpr unsigned FEW = 3, MOST = 5 * 4;
  /* Where their list is. */
  uint32_t at;
  /* Of shared memory, whose. */
  uint32_t block;
  uint8_t count, room;
  /* Bytes that were written since the block began. */
  uint8_t written;
};

/* Memory that several threads see. */
class Watched {
  static constexpr size_t WORD = 4;
  Pages pages;
  Word *words;
  std::vector<Access> lists;

  static size_t bytes_of_words(size_t bytes) { return (bytes / WORD + 2) * sizeof(Word) / Pages::PAGE * Pages::PAGE + Pages::PAGE; }

public:
  std::string name;
  char *begin;
  size_t bytes;
  /* Of a block, which begins with nothing in it. */
  bool is_shared;
  /* Nobody writes it. */
  bool is_constant = false;
  /* What was read first since the last barrier of what nothing had written: a mistake, unless it is written meanwhile, which is another. Where
   * that is poison it is none, as kernels read ahead what they do not use: it shows in the result. */
  bool is_poisoned;
  Access unwritten = {};
  size_t unwritten_at;
  /* Around it: addresses that nothing else has. */
  const char *low, *high;

  Watched(const std::string &name, char *begin, size_t bytes, bool is_shared, bool is_poisoned, const char *low, const char *high)
      : pages(bytes_of_words(bytes)), words(reinterpret_cast<Word *>(pages.open(0, bytes_of_words(bytes)))),
        name(name), begin(begin), bytes(bytes), is_shared(is_shared), is_poisoned(is_poisoned), low(low), high(high) {}

  DIETCODE_HOST_UNWATCHED bool is_near(const char *at) const { return at >= low && at < high; }

  DIETCODE_HOST_UNWATCHED void access(const char *at, size_t size, Access access, const Thread &by) {
    if (at < begin || at + size > begin + bytes) refuse(at, size, access, text(", which has %zu", bytes));
    if (is_constant && access.writes()) refuse(at, size, access, ", which the kernel has as constant");
    if (is_constant) return;
    for (size_t offset = static_cast<size_t>(at - begin), end = offset + size; offset < end;) {
      const size_t first = offset % WORD, count = WORD - first < end - offset ? WORD - first : end - offset;
      access.bytes = static_cast<uint8_t>(((1u << count) - 1) << first);
      word(offset, words[offset / WORD], access, by);
      offset += count;
    }
  }

  /* At a barrier, or at a block's end: what is wrong with what was read. */
  std::string end_interval();

private:
  DIETCODE_HOST_UNWATCHED void word(size_t offset, Word &word, const Access &access, const Thread &by) {
    if (is_shared && word.block != access.block) word.count = word.written = 0;
    word.block = access.block;
    const Access *const list = &lists.data()[word.at];
    for (unsigned i = 0; i < word.count; ++i) {
      const Access &old = list[i];
      if (old.kind == Kind::copy && (old.bytes & access.bytes) != 0 && !finishes(old, access))
        tell(offset, access, old, "before it has waited for it");
      if (access.conflicts(old, by) && !are_fenced(old, access)) tell(offset, access, old, "with nothing between that orders them");
    }
    if (is_shared && !is_poisoned && access.kind == Kind::read && (access.bytes & ~word.written) != 0 && unwritten.kind == Kind::none) {
      unwritten = access;
      unwritten_at = offset;
    }
    if (access.writes()) word.written |= access.bytes;
    keep(word, access, by);
  }

  /* Keeps an access, and no longer those whose place it takes. */
  DIETCODE_HOST_UNWATCHED void keep(Word &word, Access access, const Thread &by) {
    Access *const list = &lists.data()[word.at];
    const bool takes_all = access.kind == Kind::write || access.kind == Kind::copy;
    /* Bytes with one that nothing orders, and those where it is of this warp. */
    uint8_t once = 0, beside = 0;
    unsigned kept = 0;
    for (unsigned i = 0; i < word.count; ++i) {
      Access old = list[i];
      const uint8_t common = old.bytes & access.bytes;
      if (takes_all) {
        old.bytes &= ~common;
      } else if (common != 0 && old.kind == access.kind) {
        const bool is_same = old.thread == access.thread && old.interval == access.interval && old.epoch == access.epoch;
        if (old.block != access.block || is_same) {
          access.bytes &= ~common;
        } else if (access.comes_after(old, by)) {
          old.bytes &= ~common;
        } else {
          const uint8_t twice = common & once, full = access.shares_warp(old) ? twice : twice & beside;
          access.bytes &= ~full;
          old.bytes &= ~(twice & ~full);
          once |= common;
          if (access.shares_warp(old)) beside |= common;
        }
      }
      if (old.bytes != 0) list[kept++] = old;
    }
    word.count = static_cast<uint8_t>(kept);
    if (access.bytes == 0) return;
    if (word.count == word.room) give_room(word);
    lists.data()[word.at + word.count++] = access;
  }

  void give_room(Word &word) {
    const size_t at = lists.size();
    const uint8_t room = word.room == 0 ? Word::FEW : Word::MOST;
    lists.resize(at + room);
    for (unsigned i = 0; i < word.count; ++i) lists[at + i] = lists[word.at + i];
    word.at = static_cast<uint32_t>(at);
    word.room = room;
  }

  /* Whether a block has said by __threadfence and an atomic function that it has done something, and the other, by an atomic function, has
   * seen so since. */
  DIETCODE_HOST_UNWATCHED static bool are_fenced(const Access &old, const Access &access) {
    bool is_released = false, is_acquired = false;
    for (const Meeting &by : block->released)
      is_released |= by.block == old.block && (by.thread == old.thread || by.interval > old.interval);
    for (const Meeting &by : block->acquired)
      is_acquired |= by.block == access.block && (by.thread == access.thread || by.interval < access.interval);
    return is_released && is_acquired;
  }

  /* What a thread waits for is written again, by that thread, see finish_copies. */
  DIETCODE_HOST_UNWATCHED static bool finishes(const Access &copy, const Access &access) {
    return access.kind == Kind::write && access.thread == copy.thread && access.place == nullptr;
  }

  [[noreturn]] void refuse(const char *at, size_t size, const Access &access, const std::string &why) const;
  [[noreturn]] void tell(size_t offset, const Access &access, const Access &old, const char *how) const;
};

/* Copies of a launch's tensors, each apart from everything else, which the kernel has in their place. Other launches that run at the same
 * time do not see what this one writes before it ends. */
class Tensors {
  struct Tensor {
    Pages pages;
    char *theirs;
    Watched watched;
    /* What was there, if the kernel may write it. */
    std::vector<char> before;

    Tensor(const std::string &name, char *theirs, size_t bytes)
        : Tensor(name, theirs, bytes, reinterpret_cast<uintptr_t>(theirs) % Pages::PAGE) {}

  private:
    Tensor(const std::string &name, char *theirs, size_t bytes, size_t offset)
        : Tensor(name, theirs, bytes, offset, (offset + bytes + Pages::PAGE - 1) / Pages::PAGE * Pages::PAGE) {}
    Tensor(const std::string &name, char *theirs, size_t bytes, size_t offset, size_t whole)
        : Tensor(name, theirs, bytes, offset, whole, whole + 16 * Pages::PAGE) {}
    /* On either side lies as much as it has itself. */
    Tensor(const std::string &name, char *theirs, size_t bytes, size_t offset, size_t whole, size_t around)
        : pages(whole + 2 * around), theirs(theirs),
          watched(name, pages.open(around, whole) + offset, bytes, false, false, nullptr, nullptr) {
      watched.low = watched.begin - offset - around;
      watched.high = watched.begin - offset + whole + around;
      watched.is_constant = true;
      memcpy(watched.begin, theirs, bytes);
    }
  };

  std::vector<std::unique_ptr<Tensor>> all;
  std::vector<void *> pointers, values;
  /* Those of all tensors. */
  std::vector<Watched *> list;
  Watched **watched;
  size_t watched_count;

public:
  /* Of parameters, which are pointers, and to what a kernel may write. */
  Tensors(const dietcode_argument *arguments, const bool *are_pointers, const bool *are_mutable, size_t count) {
    pointers.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const dietcode_argument &argument = arguments[i];
      values.push_back(argument.value);
      if (!WATCHES || !are_pointers[i] || *static_cast<char **>(argument.value) == nullptr) continue;
      Tensor &ours = copy(text("parameter %zu", i), *static_cast<char **>(argument.value), argument.bytes);
      ours.watched.is_constant &= !are_mutable[i];
      pointers.push_back(ours.watched.begin);
      values[i] = &pointers.back();
    }
    for (const auto &tensor : all) {
      Watched &watched = tensor->watched;
      if (!watched.is_constant) tensor->before.assign(watched.begin, watched.begin + watched.bytes);
      list.push_back(&watched);
    }
    watched = list.data();
    watched_count = list.size();
  }

  /* The addresses of the values that the kernel has. */
  void **addresses() { return values.data(); }

  /* What the kernel has changed is theirs; what lies between may meanwhile be somebody else's. */
  DIETCODE_HOST_UNWATCHED void give_back() const {
    for (const auto &tensor : all) {
      const char *const before = tensor->before.data(), *const now = tensor->watched.begin;
      for (size_t i = 0, bytes = tensor->before.size(); i < bytes; ++i)
        if (now[i] != before[i]) tensor->theirs[i] = now[i];
    }
  }

  DIETCODE_HOST_UNWATCHED Watched *near(const char *at) const {
    for (size_t i = 0; i < watched_count; ++i)
      if (watched[i]->is_near(at)) return watched[i];
    return nullptr;
  }

  /* How far away the nearest tensor is. */
  std::string distance(const char *at) const {
    const Watched *nearest = nullptr;
    const auto away = [at](const Watched &it) { return at < it.begin ? it.begin - at : at - it.begin - static_cast<ptrdiff_t>(it.bytes); };
    for (const Watched *it : list)
      if (nearest == nullptr || away(*it) < away(*nearest)) nearest = it;
    if (nearest == nullptr) return "";
    return text(", %td bytes %s %s", away(*nearest), at < nearest->begin ? "before" : "behind", nearest->name.c_str());
  }

private:
  /* A tensor may be passed twice. */
  Tensor &copy(const std::string &name, char *theirs, size_t bytes) {
    for (const auto &tensor : all)
      if (tensor->theirs == theirs && tensor->watched.bytes == bytes) return *tensor;
    all.push_back(std::make_unique<Tensor>(name, theirs, bytes));
    return *all.back();
  }
};

/* Where an access stands: a line of the kernel's source where the compiler noted lines, and its text. */
inline std::string source_of(const Access &access) {
  const void *const code = access.place;
  if (access.line > 0) return text(Site{static_cast<const char *>(code), access.line});
  Dl_info info;
  if (code == nullptr || dladdr(code, &info) == 0) return "a cp.async";
  const size_t offset = static_cast<size_t>(static_cast<const char *>(code) - static_cast<const char *>(info.dli_fbase)) - 1;
  const std::string command = text("addr2line -i -e '%s' 0x%zx 2>/dev/null", info.dli_fname, offset);
  char line[1024] = "";
  if (FILE *said = popen(command.c_str(), "r")) {
    /* The last line is that of the function that the others are inlined into. */
    for (char next[sizeof line]; fgets(next, sizeof next, said);) strcpy(line, next);
    pclose(said);
  }
  char *colon = strrchr(line, ':');
  const int number = colon ? atoi(colon + 1) : 0;
  if (number == 0) return text("%s+0x%zx", info.dli_sname ? info.dli_sname : "code", offset);
  *colon = 0;
  std::string where = text(Site{line, number});
  if (FILE *file = fopen(line, "r")) {
    char statement[512] = "";
    for (int n = 0; n < number && fgets(statement, sizeof statement, file);) n += strchr(statement, '\n') != nullptr;
    fclose(file);
    const char *begin = statement + strspn(statement, " ");
    const std::string trimmed(begin, strcspn(begin, "\n"));
    if (!trimmed.empty() && trimmed.size() < 160) where += " `" + trimmed + "`";
  }
  return where;
}

/* Ends the launch with a sentence about what a thread accesses. The running thread does not go on: a compiler takes a function that it
 * calls before an access for one that returns. */
[[noreturn]] inline void stop(const Access &access, const std::string &what) {
  block->error = block->name(block->threads[access.thread]) + ": " + verb(access.kind) + what;
  block->running->state = State::exited;
  for (;;) block->wait();
}

inline void Watched::refuse(const char *at, size_t size, const Access &access, const std::string &why) const {
  stop(access, text(" bytes %td to %td of %s%s, at ", at - begin, at - begin + static_cast<ptrdiff_t>(size) - 1, name.c_str(), why.c_str()) +
                   source_of(access));
}

inline void Watched::tell(size_t offset, const Access &access, const Access &old, const char *how) const {
  const Thread &other = block->threads[old.thread];
  const std::string of_block = old.block == access.block ? "" : " of " + block->name_of(old.block - 1);
  stop(access, text(" byte %zu of %s at ", offset, name.c_str()) + source_of(access) + ", which thread " + text(other.index) + of_block + " " +
                   verb(old.kind) + " at " + source_of(old) + ", " + how);
}

inline std::string Watched::end_interval() {
  if (unwritten.kind == Kind::none) return "";
  const std::string who = block->name(block->threads[unwritten.thread]);
  return who + text(": reads byte %zu of %s, which no thread of the block has written, at ", unwritten_at, name.c_str()) + source_of(unwritten);
}

/* The variables of a thread of the machine in the library or program that this is in, among which arrays under __shared__ are. */
inline bool find_thread_locals(char **begin, size_t *bytes) {
  struct Found {
    uintptr_t code;
    char *begin;
    size_t bytes;
  } found = {reinterpret_cast<uintptr_t>(&find_thread_locals), nullptr, 0};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *given) {
        Found &found = *static_cast<Found *>(given);
        bool is_here = false;
        size_t bytes = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto &segment = info->dlpi_phdr[i];
          is_here |= segment.p_type == PT_LOAD && found.code - (info->dlpi_addr + segment.p_vaddr) < segment.p_memsz;
          if (segment.p_type == PT_TLS) bytes = segment.p_memsz;
        }
        if (!is_here) return 0;
        found.begin = static_cast<char *>(info->dlpi_tls_data);
        found.bytes = bytes;
        return 1;
      },
      &found);
  *begin = found.begin;
  *bytes = found.bytes;
  return found.begin != nullptr;
}

/* What is watched at an address of a block's memory, if anything is. */
DIETCODE_HOST_UNWATCHED inline Watched *watched_at(const Block &block, const char *at) {
  if (block.watched->is_near(at)) return block.watched;
  Watched *const tensor = block.tensors ? block.tensors->near(at) : nullptr;
  if (tensor || !block.static_shared || !block.static_shared->is_near(at)) return tensor;
  for (const Range &own : block.own)
    if (own.has(at)) return nullptr;
  return block.static_shared;
}

/* Whether something is at an address: a function of the system reads it before it says that it has no such operation. */
DIETCODE_HOST_UNWATCHED inline bool is_readable(const char *at) {
  /* Pages at which something was. */
  thread_local uintptr_t known[64];
  const uintptr_t page = reinterpret_cast<uintptr_t>(at) / 4096 + 1;
  if (page == 1) return false;
  if (known[page % 64] == page) return true;
  const int before = errno;
  const bool is_there = syscall(SYS_rt_sigprocmask, ~0, reinterpret_cast<uintptr_t>(at) & ~uintptr_t(7), nullptr, 8) == 0 || errno != EFAULT;
  errno = before;
  if (is_there) known[page % 64] = page;
  return is_there;
}

DIETCODE_HOST_UNWATCHED DIETCODE_HOST_FUNCTION void note(Block &block, const Thread &thread, const char *at, size_t size, Kind kind, int line,
                                         const void *place) {
  const unsigned number = thread.number;
  const Access access = {kind, 0, static_cast<uint16_t>(number), block.number, block.interval, thread.seen[number % 32], line, place};
  const Meeting meeting = {block.number, block.interval, access.thread};
  if (kind == Kind::add && thread.is_fenced) block.released.push_back(meeting);
  if (kind == Kind::add && !block.released.empty()) block.acquired.push_back(meeting);
  if (Watched *const watched = watched_at(block, at)) return watched->access(at, size, access, thread);
  if (!is_readable(at))
    stop(access, text(" %zu bytes where nothing is", size) + (block.tensors ? block.tensors->distance(at) : "") + ", at " + source_of(access));
}

DIETCODE_HOST_FUNCTION void require_shared(const Thread &thread, const void *p, const char *what) {
  if (!WATCHES) return;
  const Watched *const watched = watched_at(*block, static_cast<const char *>(p));
  if (watched && watched->is_shared) return;
  block->error = block->name(thread) + text(": %s takes an address of shared memory, found one of %s", what, watched ? watched->name.c_str() : "something else");
  throw Failed();
}

/* What the compiler tells of: most of it is about a thread's own variables. */
DIETCODE_HOST_UNWATCHED inline void note_told(const void *p, size_t size, Kind kind, const void *code) {
  Block *const it = block;
  Thread *const thread = it ? it->running : nullptr;
  const char *const at = static_cast<const char *>(p);
  if (thread == nullptr || thread->unwatched > 0 || thread->stack.has(at)) return;
  ++thread->unwatched;
  note(*it, *thread, at, size, kind, 0, code);
  touch(*thread, at, size, kind == Kind::write, false, code);
  --thread->unwatched;
}
#endif

}  // namespace dietcode_host

#if defined(DIETCODE_HOST_WATCHES) && !defined(DIETCODE_HOST_APART)
#define DIETCODE_HOST_CALLED(name, parameters) \
  extern "C" __attribute__((used, noinline)) DIETCODE_HOST_UNWATCHED inline void __tsan_##name parameters
#define DIETCODE_HOST_TOLD(name, parameters, size, kind)                                                \
  DIETCODE_HOST_CALLED(name, parameters) {                                                              \
    dietcode_host::note_told(at, size, dietcode_host::Kind::kind, __builtin_return_address(0));          \
  }
#define DIETCODE_HOST_TOLD_OF(bytes)                             \
  DIETCODE_HOST_TOLD(read##bytes, (void *at), bytes, read)       \
  DIETCODE_HOST_TOLD(write##bytes, (void *at), bytes, write)     \
  DIETCODE_HOST_TOLD(unaligned_read##bytes, (void *at), bytes, read) \
  DIETCODE_HOST_TOLD(unaligned_write##bytes, (void *at), bytes, write)
DIETCODE_HOST_TOLD_OF(1)
DIETCODE_HOST_TOLD_OF(2)
DIETCODE_HOST_TOLD_OF(4)
DIETCODE_HOST_TOLD_OF(8)
DIETCODE_HOST_TOLD_OF(16)
DIETCODE_HOST_TOLD(read_range, (void *at, size_t size), size, read)
DIETCODE_HOST_TOLD(write_range, (void *at, size_t size), size, write)
DIETCODE_HOST_CALLED(init, ()) {}
DIETCODE_HOST_CALLED(func_entry, (void *)) {}
DIETCODE_HOST_CALLED(func_exit, ()) {}
DIETCODE_HOST_CALLED(vptr_update, (void **, void *)) {}
DIETCODE_HOST_CALLED(vptr_read, (void **)) {}
#undef DIETCODE_HOST_TOLD_OF
#undef DIETCODE_HOST_TOLD
#undef DIETCODE_HOST_CALLED
#endif

#endif
