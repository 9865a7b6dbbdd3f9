// paced.c: HTTP requests at a fixed rate, whether or not the server keeps up. Each has its own time in a timetable (start +
// i / rate), and its latency counts from then, not from when it could be sent: a server that stalls cannot hide behind a
// client that waits for it.
//
// run  paced PORT RATE SECONDS CONNECTIONS PATHS TOKEN   (PATHS: a file, one path a line, asked in turn; TOKEN: bearer)
// out  one line of JSON, times in ms; figures of the client itself beside those of the server, so that whoever reads them
//      can tell whose a tail is
// err  anything but 2xx, a connection that ends, an answer without Content-Length, a server 30 s behind: a line, exit 1
// cost a core: it never sleeps; no allocation after the start
//
// One request is under way on a connection; those that are due meanwhile wait for the next that is free, in order. Nothing
// is sent twice. Answers are read by Content-Length.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

enum { HEAD_ROOM = 1 << 14, MOST_CONNECTIONS = 4096 };
static const uint64_t SECOND = 1000000000, PATIENCE = 30 * SECOND;
static const uint64_t PAUSE = SECOND / 1000; // a client that was away for longer than this makes answers late itself
static const uint64_t SLOW = SECOND / 200;   // 5 ms: the bound that the suite asks about

struct request { const char *text; size_t size; };
struct connection {
  int socket;
  uint64_t due;      // of the request under way
  size_t head_size;  // bytes of the head that came until now; 0 while the body comes
  size_t body_left;
  char head[HEAD_ROOM + 1];
};

static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("paced: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  exit(1);
}

static void *room_for(size_t count, size_t size) {
  void *room = calloc(count ? count : 1, size);
  if (!room) die("no memory");
  return room;
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * SECOND + t.tv_nsec;
}

static struct request *read_requests(const char *path, const char *token, size_t *count) {
  FILE *file = fopen(path, "r");
  if (!file) die("cannot read %s: %s", path, strerror(errno));
  size_t room = 1 << 16;
  struct request *requests = room_for(room, sizeof *requests);
  char asked[4096], *text;
  for (*count = 0; fscanf(file, "%4095s", asked) == 1; ++*count) {
    if (*count == room && !(requests = realloc(requests, (room *= 2) * sizeof *requests))) die("no memory");
    int size = asprintf(&text, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", asked, token);
    if (size < 0) die("no memory");
    requests[*count] = (struct request){text, size};
  }
  if (*count == 0) die("%s has no path", path);
  fclose(file);
  return requests;
}

static int connect_to(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  if (s < 0 || connect(s, (struct sockaddr *)&address, sizeof address) != 0)
    die("cannot connect to 127.0.0.1:%d: %s", port, strerror(errno));
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return s;
}

/** Reads a head that is whole. @returns bytes of the body */
static size_t body_size(char *head) {
  int status;
  if (sscanf(head, "HTTP/1.%*d %d", &status) != 1) die("not an answer: %.80s", head);
  if (status < 200 || status > 299) die("an answer of status %d: %.300s", status, head);
  char *length = strcasestr(head, "\r\ncontent-length:");
  if (!length) die("an answer without Content-Length: %.300s", head);
  return strtoul(length + strlen("\r\ncontent-length:"), NULL, 10);
}

/** Takes what there is of an answer. @returns whether it is whole */
static int is_answered(struct connection *c) {
  static char scrap[1 << 16];
  int in_head = c->body_left == 0;
  ssize_t got = in_head ? recv(c->socket, c->head + c->head_size, HEAD_ROOM - c->head_size, MSG_DONTWAIT)
                        : recv(c->socket, scrap, sizeof scrap, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return 0;
  if (got <= 0) die("a connection ended: %s", got == 0 ? "closed by the server" : strerror(errno));
  if (in_head) {
    c->head[c->head_size += got] = 0;
    char *end = strstr(c->head, "\r\n\r\n");
    if (!end) {
      if (c->head_size == HEAD_ROOM) die("a head of more than %d bytes", HEAD_ROOM);
      return 0; // the rest of the head is still to come
    }
    got = c->head_size - (end + 4 - c->head); // bytes of the body that came with it
    end[2] = 0;
    c->body_left = body_size(c->head);
    c->head_size = 0;
  }
  if ((size_t)got > c->body_left) die("more bytes than Content-Length says");
  return (c->body_left -= got) == 0;
}

static int by_size(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

int main(int count, char **arguments) {
  if (count != 7) die("run: paced PORT RATE SECONDS CONNECTIONS PATHS TOKEN");
  int port = atoi(arguments[1]), connections = atoi(arguments[4]);
  double rate = atof(arguments[2]), seconds = atof(arguments[3]);
  size_t total = rate * seconds, paths;
  if (rate <= 0 || total == 0 || connections < 1 || connections > MOST_CONNECTIONS) die("nothing to send");
  struct request *requests = read_requests(arguments[5], arguments[6], &paths);

  int epoll = epoll_create1(0);
  struct connection *all = room_for(connections, sizeof *all);
  struct epoll_event *events = room_for(connections, sizeof *events);
  int *idle = room_for(connections, sizeof *idle); // a ring: each connection has its turn
  for (int i = 0; i < connections; i++) {
    all[i].socket = connect_to(port);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].socket, &event) != 0) die("epoll: %s", strerror(errno));
    idle[i] = i;
  }
  uint64_t *times = room_for(total, sizeof *times);
  memset(times, 1, total * sizeof *times); // so that no page is missing later
  mlockall(MCL_CURRENT);                   // where it may

  size_t sent = 0, answered = 0, sent_late = 0, slow = 0, slow_by_client = 0, pauses = 0;
  uint64_t start = now() + SECOND / 100, turned = now(), longest = 0, paused_until = 0;
  double gap = SECOND / rate;
  while (answered < total) {
    uint64_t turn = now(), away = turn - turned;
    turned = turn;
    if (away > longest) longest = away;
    if (away >= PAUSE) pauses++, paused_until = turn;
    if (turn > start + (uint64_t)(total * gap) + PATIENCE) die("30 s after the last was due, %zu of %zu are answered", answered, total);

    for (; sent < total && sent - answered < (size_t)connections; sent++) {
      uint64_t due = start + (uint64_t)(sent * gap);
      if (due > turn) break;
      sent_late += turn - due >= PAUSE;
      struct connection *c = &all[idle[sent % connections]];
      c->due = due;
      struct request *r = &requests[sent % paths];
      if (send(c->socket, r->text, r->size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)r->size) die("cannot send: %s", strerror(errno));
    }

    int ready = epoll_wait(epoll, events, connections, 0);
    for (int i = 0; i < ready; i++) {
      struct connection *c = &all[events[i].data.u32];
      if (!is_answered(c)) continue;
      uint64_t at = now(), took = at - c->due;
      times[answered] = took;
      idle[answered++ % connections] = events[i].data.u32;
      if (took < SLOW) continue;
      slow++;
      slow_by_client += c->due < paused_until || at - turn >= PAUSE; // it was away while this was under way
    }
  }

  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  qsort(times, total, sizeof *times, by_size);
#define AT(share) (times[(size_t)((total - 1) * (share))] / 1e6)
  printf("{\"requests\":%zu,\"ms\":{\"p50\":%.4f,\"p90\":%.4f,\"p99\":%.4f,\"p999\":%.4f,\"p9999\":%.4f,\"most\":%.4f},"
         "\"slow\":%zu,\"sentLate\":%zu,\"client\":{\"longestPauseMs\":%.4f,\"pauses\":%zu,\"slowByClient\":%zu,\"preempted\":%ld}}\n",
         total, AT(0.5), AT(0.9), AT(0.99), AT(0.999), AT(0.9999), AT(1.0), slow, sent_late, longest / 1e6, pauses,
         slow_by_client, used.ru_nivcsw);
  return 0;
}
