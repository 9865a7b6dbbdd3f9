// libmaxminddb.c: looks up addresses with libmaxminddb, in the way that reader.mjs does: from the text of an address.
//
// run  libmaxminddb DATABASE ADDRESSES; then "WAY COUNT BLOCK" on standard input, and a line of figures out, as in
//      reader.mjs
//
// Ways: "string" uses the library's function for text (MMDB_lookup_string, which calls getaddrinfo). "find" uses the
// fastest function (inet_pton, MMDB_lookup_sockaddr). "fields" also reads country, state, city and coordinates. "json"
// also prints these in the form of Inkling's answer.

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
static uint64_t sink; // collects what was read, so that the compiler keeps the reads

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static MMDB_lookup_result_s find(const char *text) {
  int error;
  struct sockaddr_in6 six = {.sin6_family = AF_INET6};
  struct sockaddr_in four = {.sin_family = AF_INET};
  int is_six = strchr(text, ':') != NULL;
  if (inet_pton(is_six ? AF_INET6 : AF_INET, text, is_six ? (void *)&six.sin6_addr : &four.sin_addr) != 1) exit(3);
  return MMDB_lookup_sockaddr(&database, is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four, &error);
}

static MMDB_entry_data_s field(MMDB_lookup_result_s *found, const char *name) {
  MMDB_entry_data_s data;
  if (MMDB_get_value(&found->entry, &data, name, NULL) == MMDB_SUCCESS && data.has_data) return data;
  return (MMDB_entry_data_s){.utf8_string = ""};
}

static double number(MMDB_entry_data_s data) {
  return data.type == MMDB_DATA_TYPE_FLOAT ? data.float_value : data.double_value;
}

static void lookup(enum way way, const char *text) {
  int gai, error;
  MMDB_lookup_result_s found = way == STRING ? MMDB_lookup_string(&database, text, &gai, &error) : find(text);
  if (!found.found_entry) return;
  sink += found.entry.offset;
  if (way < FIELDS) return;
  MMDB_entry_data_s country = field(&found, "country_code"), state = field(&found, "state1"), city = field(&found, "city");
  double latitude = number(field(&found, "latitude")), longitude = number(field(&found, "longitude"));
  sink += country.data_size + state.data_size + city.data_size + (uint64_t)(latitude + longitude);
  char answer[512];
  if (way == JSON)
    sink += snprintf(answer, sizeof answer,
                     "{\"city\":{\"name\":\"%.*s\"},\"country\":{\"iso_code\":\"%.*s\"},\"location\":{\"latitude\":%.6g,"
                     "\"longitude\":%.6g},\"subdivisions\":[{\"name\":\"%.*s\"}]}",
                     city.data_size, city.utf8_string, country.data_size, country.utf8_string, latitude, longitude,
                     state.data_size, state.utf8_string);
}

int main(int count, char **arguments) {
  if (count != 3 || MMDB_open(arguments[1], MMDB_MODE_MMAP, &database) != MMDB_SUCCESS) return 2;
  FILE *file = fopen(arguments[2], "r");
  size_t total = 0, capacity = 1 << 21, asked, block;
  char(*addresses)[48] = malloc(capacity * sizeof *addresses), name[16];
  while (file && addresses && total < capacity && fscanf(file, "%47s", addresses[total]) == 1) total++;
  if (total == 0) return 2;
  printf("ready %s\n", MMDB_lib_version());
  fflush(stdout);
  while (scanf("%15s %zu %zu", name, &asked, &block) == 3) {
    enum way way = STRING;
    while (way < WAYS && strcmp(NAMES[way], name) != 0) way++;
    if (way == WAYS || block == 0 || block > asked || asked > total) return 2;
    for (size_t i = 0; i + block <= asked; i += block) {
      double from = now_ns();
      for (size_t k = i; k < i + block; k++) lookup(way, addresses[k]);
      printf("%c%.1f", i == 0 ? '[' : ',', (now_ns() - from) / block);
    }
    puts("]");
    fflush(stdout);
  }
  return sink == 1; // keeps the result in use
}
