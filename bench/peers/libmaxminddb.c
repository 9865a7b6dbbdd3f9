// libmaxminddb.c: libmaxminddb under the same questions: text of an address in, what is known of it out.
//
// run  libmaxminddb DATABASE ADDRESSES; then as asked.mjs: "WAY COUNT BLOCK" on standard input, a line of figures out
//
// Ways: "string" is the library's own door for text (MMDB_lookup_string: getaddrinfo), "find" the quickest one
// (inet_pton, MMDB_lookup_sockaddr), "fields" reads country, state, city and coordinates after that, "json" prints
// them as our answer does, as far as this database goes.

#include <arpa/inet.h>
#include <maxminddb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum way { STRING, FIND, FIELDS, JSON, WAYS };
static const char *NAMES[WAYS] = {"string", "find", "fields", "json"};

static MMDB_s database;
static uint64_t sink; // what was read goes here, so that no compiler leaves the reading out

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static MMDB_lookup_result_s find(const char *text) {
  int error;
  if (strchr(text, ':')) {
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET6, text, &six.sin6_addr) != 1) exit(3);
    return MMDB_lookup_sockaddr(&database, (struct sockaddr *)&six, &error);
  }
  struct sockaddr_in four = {.sin_family = AF_INET};
  if (inet_pton(AF_INET, text, &four.sin_addr) != 1) exit(3);
  return MMDB_lookup_sockaddr(&database, (struct sockaddr *)&four, &error);
}

static int text_of(MMDB_lookup_result_s *found, const char *name, const char **text) {
  MMDB_entry_data_s data;
  if (MMDB_get_value(&found->entry, &data, name, NULL) != MMDB_SUCCESS || !data.has_data) return 0;
  if (data.type != MMDB_DATA_TYPE_UTF8_STRING) return 0;
  *text = data.utf8_string;
  return data.data_size;
}

static double number_of(MMDB_lookup_result_s *found, const char *name) {
  MMDB_entry_data_s data;
  if (MMDB_get_value(&found->entry, &data, name, NULL) != MMDB_SUCCESS || !data.has_data) return 0;
  return data.type == MMDB_DATA_TYPE_FLOAT ? data.float_value : data.double_value;
}

static int ask(enum way way, const char *text) {
  MMDB_lookup_result_s found;
  if (way == STRING) {
    int gai, error;
    found = MMDB_lookup_string(&database, text, &gai, &error);
    if (gai != 0) exit(3);
  } else {
    found = find(text);
  }
  if (!found.found_entry) return 0;
  sink += found.entry.offset;
  if (way < FIELDS) return 1;
  const char *country = "", *state = "", *city = "";
  int country_size = text_of(&found, "country_code", &country);
  int state_size = text_of(&found, "state1", &state);
  int city_size = text_of(&found, "city", &city);
  double latitude = number_of(&found, "latitude"), longitude = number_of(&found, "longitude");
  sink += country_size + state_size + city_size + (uint64_t)(latitude + longitude);
  if (way == JSON) {
    char answer[512];
    sink += snprintf(answer, sizeof answer,
                     "{\"city\":{\"name\":\"%.*s\"},\"country\":{\"iso_code\":\"%.*s\"},\"location\":{\"latitude\":%.6g,"
                     "\"longitude\":%.6g},\"subdivisions\":[{\"name\":\"%.*s\"}]}",
                     city_size, city, country_size, country, latitude, longitude, state_size, state);
  }
  return 1;
}

static char (*read_addresses(const char *path, size_t *total))[48] {
  FILE *file = fopen(path, "r");
  size_t room = 1 << 16;
  char(*addresses)[48] = malloc(room * sizeof *addresses);
  *total = 0;
  while (file && addresses && fscanf(file, "%47s", addresses[*total]) == 1) {
    if (++*total == room) addresses = realloc(addresses, (room *= 2) * sizeof *addresses);
  }
  return addresses;
}

int main(int count, char **arguments) {
  if (count != 3 || MMDB_open(arguments[1], MMDB_MODE_MMAP, &database) != MMDB_SUCCESS) return 2;
  size_t total;
  char(*addresses)[48] = read_addresses(arguments[2], &total);
  if (!addresses || total == 0) return 2;
  printf("ready %s\n", MMDB_lib_version());
  fflush(stdout);
  char name[16];
  size_t asked, block;
  while (scanf("%15s %zu %zu", name, &asked, &block) == 3) {
    enum way way = STRING;
    while (way < WAYS && strcmp(NAMES[way], name) != 0) way++;
    if (way == WAYS || block == 0 || asked > total) return 2;
    size_t found = 0;
    printf("[");
    for (size_t i = 0; i + block <= asked; i += block) {
      double from = now_ns();
      for (size_t k = i; k < i + block; k++) found += ask(way, addresses[k]);
      printf("%.1f,", (now_ns() - from) / block);
    }
    printf("%zu]\n", found);
    fflush(stdout);
  }
  return sink == 1; // never: read, so that it is written
}
