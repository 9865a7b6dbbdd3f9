// kernel.c: measures what the operating system takes for a new page of memory and for a system call. If these are slow,
// starts and builds are slow, too.
//
// run  kernel; out  the CPU time in ns of the first use of 4 KB of memory, and of a system call, on one line

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES (64 * 1024)
#define CALLS 500000

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(void) {
  volatile uint8_t *bytes = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return 2;
  double from = cpu_ns();
  for (size_t i = 0; i < PAGES; i++) bytes[i * PAGE] = 1;
  double touched = cpu_ns();
  for (int i = 0; i < CALLS; i++) syscall(SYS_getppid);
  printf("%.1f %.1f\n", (touched - from) / PAGES, (cpu_ns() - touched) / CALLS);
  return 0;
}
