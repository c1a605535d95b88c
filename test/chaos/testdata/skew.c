/* Shifts the time of day of the program that preloads it by SKEW seconds. The
   monotonic clock stays. It asks the kernel itself and takes no memory, so that
   it works before an allocator does; libfaketime does not, under jemalloc. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long skew(void) {
  const char *s = getenv("SKEW");
  return s ? atol(s) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
  int r = syscall(SYS_clock_gettime, clock, t);
  if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) t->tv_sec += skew();
  return r;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
