// floor.c: measures the memory cost of a lookup without the lookup itself. It makes as many dependent reads of random
// cache lines as a lookup does, each in the segment section that the lookup reads at that point.
//
// run  floor SEGMENT OFFSET:BYTES ...; then "lines COUNT BLOCK" on standard input, and a line of figures out, as in
//      reader.mjs
//
// A section is listed as often as it is read. The place of a line depends on the content of the line before, so no read
// can begin before the last one has ended.

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#define LINE 64
#define MAX_STEPS 16

static const uint8_t *step[MAX_STEPS];
static uint64_t lines[MAX_STEPS];
static uint64_t state = 88172645463325252ULL; // xorshift64*

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static void look_up(int steps) {
  for (int i = 0; i < steps; i++) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    uint64_t line = ((__uint128_t)(state * 2685821657736338717ULL) * lines[i]) >> 64;
    state += step[i][line * LINE] + 1;
  }
}

int main(int count, char **arguments) {
  int file = count < 3 ? -1 : open(arguments[1], O_RDONLY), steps = count - 2;
  struct stat about;
  if (file < 0 || steps > MAX_STEPS || fstat(file, &about) != 0) return 2;
  const uint8_t *bytes = mmap(NULL, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED) return 2;
  for (int i = 0; i < steps; i++) {
    uint64_t offset, length;
    if (sscanf(arguments[i + 2], "%lu:%lu", &offset, &length) != 2 || offset + length > (uint64_t)about.st_size)
      return 2;
    step[i] = bytes + offset;
    lines[i] = length / LINE + 1 - (length % LINE == 0);
  }
  puts("ready floor");
  fflush(stdout);
  char name[16];
  size_t asked, block;
  while (scanf("%15s %zu %zu", name, &asked, &block) == 3 && block > 0 && block <= asked) {
    for (size_t i = 0; i + block <= asked; i += block) {
      double from = now_ns();
      for (size_t k = i; k < i + block; k++) look_up(steps);
      printf("%c%.1f", i == 0 ? '[' : ',', (now_ns() - from) / block);
    }
    puts("]");
    fflush(stdout);
  }
  return state == 1; // keeps the result in use
}
