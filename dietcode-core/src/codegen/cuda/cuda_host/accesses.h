/* What threads do to memory that others see: every access, against the memory's extent and against what other threads do.
 *
 * With -fsanitize=thread a compiler calls a function before each access; the functions stand at the end of this file, in place of the
 * sanitizer's library. For each word of shared memory and of the tensors they keep who accessed it last, where, and in which interval between
 * barriers. Two accesses by different threads of which one writes are a race if no barrier stands between them, nor a __syncwarp
 * between lanes of a warp; between blocks of a launch nothing does. What cp.async writes is not read before it was waited for, nor
 * an array under __shared__ before a thread of the block has written it; dynamic shared memory is poison until then.
 *
 * Source of the rules: the memory consistency model of PTX ISA 9.0, section 8, for programs without fences.
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
  /* Whether nothing orders two accesses. */
  DIETCODE_HOST_UNWATCHED bool meets(const Access &other) const {
    if (block != other.block) return true;
    const bool same_warp = thread / 32 == other.thread / 32;
    return thread != other.thread && interval == other.interval && !(same_warp && epoch != other.epoch);
  }
  DIETCODE_HOST_UNWATCHED bool conflicts(const Access &other) const {
    return (bytes & other.bytes) != 0 && (writes() || other.writes()) && !(kind == Kind::add && other.kind == Kind::add) &&
           meets(other);
  }
};

/* The last accesses to a word that may still meet others. */
struct Word {
  static constexpr int MOST = 4;
  Access last[MOST];
  /* The block and the interval of these. Bytes that were written since the block began. */
  uint32_t block, interval;
  uint8_t written;
  /* In the interval: whether it was only read; the bytes that a thread, two threads, and the last of them, have read. */
  bool is_read_only;
  uint8_t once, twice, by_last;
  uint16_t reader;

  /* Whether a reading meets nothing, and what it could meet later meets others. */
  DIETCODE_HOST_UNWATCHED bool has_read(const Access &access) {
    const uint8_t bytes = access.bytes;
    const bool is_last = once != 0 && reader == access.thread;
    if (!is_read_only || (bytes & ~twice) == 0 || (is_last && (bytes & ~by_last) == 0)) return is_read_only;
    if (!is_last) twice |= once & bytes;
    by_last = is_last ? by_last | bytes : bytes;
    once |= bytes;
    reader = access.thread;
    return false;
  }
  DIETCODE_HOST_UNWATCHED void begin(const Access &access) {
    if (block != access.block) {
      for (Access &old : last) old.kind = Kind::none;
      written = 0;
    }
    block = access.block;
    interval = access.interval;
    is_read_only = true;
    for (const Access &old : last) is_read_only &= old.kind != Kind::copy;
    once = twice = by_last = 0;
  }

  /* Keeps an access: in the place of what it stands for, of what nothing can meet any more, or of a reading that is one of several. */
  DIETCODE_HOST_UNWATCHED void keep(const Access &access, bool ends_with_block) {
    int place = -1, free = -1, readings = 0;
    for (int i = 0; i < MOST; ++i) {
      const Access &old = last[i];
      const bool same = old.kind != Kind::none && old.thread == access.thread && old.block == access.block;
      const bool is_ordered = ends_with_block && old.kind != Kind::copy && old.interval != access.interval;
      if (same && (old.bytes & ~access.bytes) == 0 && (access.writes() || !old.writes())) place = i;
      else if (old.kind == Kind::none || is_ordered) free = i;
      else if (!old.writes() && readings++ > 0 && free < 0) free = i;
    }
    if (place < 0) place = free;
    if (place < 0 && access.writes()) place = MOST - 1;
    if (place >= 0) last[place] = access;
  }
};

/* Memory that several threads see. */
class Watched {
  static constexpr size_t WORD = 4;
  Pages pages;
  Word *words;

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

  DIETCODE_HOST_UNWATCHED void access(const char *at, size_t size, Access access) {
    if (at < begin || at + size > begin + bytes) refuse(at, size, access);
    if (is_constant) return;
    for (size_t offset = static_cast<size_t>(at - begin), end = offset + size; offset < end;) {
      const size_t first = offset % WORD, count = WORD - first < end - offset ? WORD - first : end - offset;
      access.bytes = static_cast<uint8_t>(((1u << count) - 1) << first);
      word(offset, words[offset / WORD], access);
      offset += count;
    }
  }

  /* At a barrier, or at a block's end: what is wrong with what was read. */
  std::string end_interval();

private:
  DIETCODE_HOST_UNWATCHED void word(size_t offset, Word &word, const Access &access) {
    if (is_shared) {
      if (word.block != access.block || word.interval != access.interval) word.begin(access);
      if (access.writes()) word.is_read_only = false;
      else if ((is_poisoned || (access.bytes & ~word.written) == 0) && word.has_read(access)) return;
    }
    for (const Access &old : word.last) {
      if (old.kind == Kind::none) continue;
      if (old.kind == Kind::copy && (old.bytes & access.bytes) != 0 && access.kind != Kind::copy && !finishes(old, access))
        tell(offset, access, old, "before it has waited for it");
      if (old.conflicts(access)) tell(offset, access, old, "with nothing between that orders them");
    }
    if (is_shared && !is_poisoned && access.kind == Kind::read && (access.bytes & ~word.written) != 0 && unwritten.kind == Kind::none) {
      unwritten = access;
      unwritten_at = offset;
    }
    if (access.writes()) word.written |= access.bytes;
    word.keep(access, is_shared);
  }

  /* What a thread waits for is written again, by that thread, see finish_copies. */
  DIETCODE_HOST_UNWATCHED static bool finishes(const Access &copy, const Access &access) {
    return access.kind == Kind::write && access.thread == copy.thread && access.place == nullptr;
  }

  [[noreturn]] void refuse(const char *at, size_t size, const Access &access) const;
  [[noreturn]] void tell(size_t offset, const Access &access, const Access &old, const char *how) const;
};

/* Copies of a launch's tensors, each apart from everything else, which the kernel has in their place. */
class Tensors {
  static constexpr size_t AROUND = 16 * Pages::PAGE;

  struct Tensor {
    Pages pages;
    char *theirs;
    Watched watched;

    Tensor(const std::string &name, char *theirs, size_t bytes)
        : Tensor(name, theirs, bytes, reinterpret_cast<uintptr_t>(theirs) % Pages::PAGE) {}

  private:
    Tensor(const std::string &name, char *theirs, size_t bytes, size_t offset)
        : Tensor(name, theirs, bytes, offset, (offset + bytes + Pages::PAGE - 1) / Pages::PAGE * Pages::PAGE) {}
    Tensor(const std::string &name, char *theirs, size_t bytes, size_t offset, size_t whole)
        : pages(whole + 2 * AROUND), theirs(theirs),
          watched(name, pages.open(AROUND, whole) + offset, bytes, false, false, nullptr, nullptr) {
      watched.low = watched.begin - offset - AROUND;
      watched.high = watched.begin - offset + whole + AROUND;
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
  Tensors(const dietcode_argument *arguments, const bool *are_mutable, size_t count) {
    pointers.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const dietcode_argument &argument = arguments[i];
      values.push_back(argument.value);
      if (!WATCHES || argument.bytes == 0) continue;
      Tensor &ours = copy(text("parameter %zu", i), *static_cast<char **>(argument.value), argument.bytes);
      ours.watched.is_constant &= !are_mutable[i];
      pointers.push_back(ours.watched.begin);
      values[i] = &pointers.back();
    }
    for (const auto &tensor : all) list.push_back(&tensor->watched);
    watched = list.data();
    watched_count = list.size();
  }

  /* The addresses of the values that the kernel has. */
  void **addresses() { return values.data(); }

  /* What the kernel has written is theirs. */
  void give_back() const {
    for (const auto &tensor : all)
      if (!tensor->watched.is_constant) memcpy(tensor->theirs, tensor->watched.begin, tensor->watched.bytes);
  }

  DIETCODE_HOST_UNWATCHED Watched *near(const char *at) const {
    for (size_t i = 0; i < watched_count; ++i)
      if (watched[i]->is_near(at)) return watched[i];
    return nullptr;
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

/* Ends the launch with a sentence about the running thread, which does not go on: a compiler takes a function that it calls before an access
 * for one that returns. */
[[noreturn]] inline void stop(const std::string &what) {
  block->error = block->name(*block->running) + ": " + what;
  block->running->state = State::exited;
  for (;;) block->wait();
}

inline void Watched::refuse(const char *at, size_t size, const Access &access) const {
  stop(text("%s bytes %td to %td of %s, which has %zu, at ", verb(access.kind), at - begin,
            at - begin + static_cast<ptrdiff_t>(size) - 1, name.c_str(), bytes) +
       source_of(access));
}

inline void Watched::tell(size_t offset, const Access &access, const Access &old, const char *how) const {
  const Thread &other = block->threads[old.thread];
  const std::string of_block = old.block == access.block ? "" : " of " + block->name_of(old.block - 1);
  stop(text("%s byte %zu of %s at ", verb(access.kind), offset, name.c_str()) + source_of(access) + ", which thread " + text(other.index) +
       of_block + " " + verb(old.kind) + " at " + source_of(old) + ", " + how);
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

/* Notes an access of a thread of the block that is carried out. */
DIETCODE_HOST_UNWATCHED inline void note(const Block &block, const Thread &thread, const char *at, size_t size, Kind kind, int line,
                                         const void *place) {
  Watched *const watched = watched_at(block, at);
  if (watched == nullptr) return;
  const unsigned number = thread.number;
  watched->access(at, size, {kind, 0, static_cast<uint16_t>(number), block.number, block.interval, block.epochs[number / 32], line, place});
}

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

/* What the compiler tells of: most of it is about a thread's own variables. */
DIETCODE_HOST_UNWATCHED inline void note_told(const void *p, size_t size, Kind kind, const void *code) {
  Block *const it = block;
  Thread *const thread = it ? it->running : nullptr;
  const char *const at = static_cast<const char *>(p);
  if (thread == nullptr || thread->unwatched > 0 || thread->stack.has(at)) return;
  ++thread->unwatched;
  note(*it, *thread, at, size, kind, 0, code);
  --thread->unwatched;
}

}  // namespace dietcode_host

#ifdef DIETCODE_HOST_WATCHES
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
