// Preloaded into a service by crash tests (disk.ts): counts what changes files below a directory,
// ends the process at one of these calls, refuses some of them, or keeps a journal of all.
//
//   DISK_UNDER    the directory
//   DISK_CONTROL  a file of four 64-bit numbers that the test may change at any time: seen, kind, at, until
//   DISK_JOURNAL  where to write the journal, if any
//
// kind 1: SIGKILL before call number `at`. kind 2: the same in the middle of that call, if it
// writes. kind 3: no space from call `at` to call `until`; the first of them writes a part.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, FLUSH, TRUNCATE, RENAME, REMOVE, CREATE, LINK };
enum { GO_ON, PART, NO_SPACE };

static const char *under;
static volatile int64_t *control;
static int journal = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void prepare(void) {
  const char *control_path = getenv("DISK_CONTROL"), *journal_path = getenv("DISK_JOURNAL");
  const char *directory = getenv("DISK_UNDER");
  if (!directory || !control_path) return;
  int fd = syscall(SYS_openat, AT_FDCWD, control_path, O_RDWR);
  void *mapped = mmap(NULL, 32, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || mapped == MAP_FAILED) abort();
  control = mapped;
  if (journal_path)
    journal = syscall(SYS_openat, AT_FDCWD, journal_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  under = directory;
}

static int is_under(const char *path) {
  size_t length = under ? strlen(under) : 0;
  return length > 0 && strncmp(path, under, length) == 0 && path[length] == '/';
}

// The path of a file that is open, or an empty text when it is not below the directory.
static void path_of(int fd, char *path) {
  char link[64];
  path[0] = 0;
  if (!under) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, 4095);
  path[length < 0 ? 0 : length] = 0;
  // The index of SQLite's log is memory that processes share: it is made anew after a crash.
  if (!is_under(path) || strstr(path, "-shm")) path[0] = 0;
}

static void put(const void *bytes, size_t length) {
  if (syscall(SYS_write, journal, bytes, length) != (ssize_t)length) abort();
}

struct entry { int64_t kind, offset, path_length, length; };

static void note(int kind, const char *path, int64_t offset, const void *bytes, size_t length) {
  if (journal < 0) return;
  struct entry entry = {kind, offset, strlen(path), length};
  put(&entry, sizeof entry);
  put(path, strlen(path));
  if (length > 0) put(bytes, length);
}

static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

// Called with the lock: counts the call and says what is to become of it.
static int fate(int writes) {
  int64_t number = ++control[0], kind = control[1], at = control[2], until = control[3];
  if ((kind == 1 || (kind == 2 && !writes)) && number == at) die();
  if (kind == 2 && number == at) return PART;
  if (kind == 3 && writes && number >= at && number <= until) return number == at ? PART : NO_SPACE;
  return GO_ON;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static ssize_t write_at(int fd, const char *bytes, size_t length, int64_t offset, int64_t back) {
  char path[4096];
  path_of(fd, path);
  ssize_t (*real_pwrite)(int, const void *, size_t, off_t) = REAL(pwrite);
  ssize_t (*real_write)(int, const void *, size_t) = REAL(write);
  if (!path[0]) return back ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, offset);
  pthread_mutex_lock(&lock);
  int what = fate(1);
  ssize_t done = -1;
  if (what == PART && length > 1) length /= 2;
  if (what == NO_SPACE || (what == PART && length < 2)) errno = ENOSPC;
  else {
    if (back) offset = fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
    note(WRITE, path, offset, bytes, length);
    done = back ? real_write(fd, bytes, length) : real_pwrite(fd, bytes, length, offset);
  }
  if (what == PART && control[1] == 2) die();
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return done;
}

ssize_t write(int fd, const void *bytes, size_t length) { return write_at(fd, bytes, length, 0, 1); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  return write_at(fd, bytes, length, offset, 0);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  return write_at(fd, bytes, length, offset, 0);
}

// One part of a list: a short write is allowed, and its caller goes on.
static ssize_t write_parts(int fd, const struct iovec *parts, int count, int64_t offset, int64_t back) {
  ssize_t done = 0;
  for (int i = 0; i < count; i++) {
    ssize_t one = write_at(fd, parts[i].iov_base, parts[i].iov_len, offset + done, back);
    if (one < 0) return done > 0 ? done : one;
    done += one;
    if (one < (ssize_t)parts[i].iov_len) break;
  }
  return done;
}

static int is_watched(int fd) {
  char path[4096];
  path_of(fd, path);
  return path[0] != 0;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (!is_watched(fd)) return REAL(writev)(fd, parts, count);
  return write_parts(fd, parts, count, 0, 1);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return write_parts(fd, parts, count, offset, 0);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  return write_parts(fd, parts, count, offset, 0);
}

static int on_file(int kind, int fd, int64_t size) {
  char path[4096];
  path_of(fd, path);
  int (*real)(int) = kind == FLUSH ? REAL(fdatasync) : NULL;
  if (!path[0] || !under) return kind == FLUSH ? real(fd) : REAL(ftruncate)(fd, size);
  pthread_mutex_lock(&lock);
  fate(0);
  int result = kind == FLUSH ? real(fd) : REAL(ftruncate)(fd, size);
  if (result == 0) note(kind, path, size, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

int fsync(int fd) { return on_file(FLUSH, fd, 0); }
int fdatasync(int fd) { return on_file(FLUSH, fd, 0); }
int ftruncate(int fd, off_t size) { return on_file(TRUNCATE, fd, size); }
int ftruncate64(int fd, off64_t size) { return on_file(TRUNCATE, fd, size); }

static int on_name(int kind, const char *from, const char *to) {
  int watched = is_under(from) || (to && is_under(to));
  if (watched) {
    pthread_mutex_lock(&lock);
    fate(0);
  }
  int result = kind == REMOVE ? REAL(unlink)(from)
               : kind == RENAME ? REAL(rename)(from, to) : REAL(link)(from, to);
  int error = errno;
  if (watched) {
    if (result == 0) note(kind, from, 0, to, to ? strlen(to) : 0);
    pthread_mutex_unlock(&lock);
  }
  errno = error;
  return result;
}

int rename(const char *from, const char *to) { return on_name(RENAME, from, to); }
int link(const char *from, const char *to) { return on_name(LINK, from, to); }
int unlink(const char *path) { return on_name(REMOVE, path, NULL); }

static int open_file(const char *path, int flags, mode_t mode) {
  int makes = (flags & (O_CREAT | O_TRUNC)) != 0 && is_under(path) && !strstr(path, "-shm");
  if (!makes) return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  pthread_mutex_lock(&lock);
  int was = access(path, F_OK) == 0;
  int fd = syscall(SYS_openat, AT_FDCWD, path, flags, mode), error = errno;
  if (fd >= 0 && (!was || (flags & O_TRUNC))) note(was ? TRUNCATE : CREATE, path, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

static mode_t mode_of(int flags, va_list rest) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_file(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_file(path, flags | O_LARGEFILE, mode);
}
