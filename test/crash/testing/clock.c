// Preloaded into a service by crash tests: its clock is ahead of the system's by the 64-bit number
// of microseconds in the file CLOCK_CONTROL, which the test may change at any time. Clocks that
// only measure how long things take stay as they are.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *ahead_us;

__attribute__((constructor)) static void prepare(void) {
  const char *path = getenv("CLOCK_CONTROL");
  if (!path) return;
  int fd = open(path, O_RDONLY);
  void *mapped = mmap(NULL, 8, PROT_READ, MAP_SHARED, fd, 0);
  if (fd < 0 || mapped == MAP_FAILED) abort();
  ahead_us = mapped;
}

static int64_t ahead(void) { return ahead_us ? *ahead_us : 0; }

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  int is_time_of_day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (result == 0 && is_time_of_day) now->tv_sec += ahead() / 1000000;
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec precise;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}
