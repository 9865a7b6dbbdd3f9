// paced.c: HTTP requests at a fixed rate, whether or not the server keeps up. Each has its own due time (start + i / rate),
// and its latency counts from then, not from when it could be sent: a stall of the server delays all that are due in it.
//
// run  paced PORT RATE SECONDS CONNECTIONS PATHS TOKEN   (PATHS: a file, one path a line, in turn; TOKEN: bearer)
// out  one line of JSON, times in ms; the client's own pauses beside the server's latencies
// err  anything but 2xx, a connection that ends, no Content-Length, a server 30 s behind: a line, exit 1
// cost a core: it never sleeps; no allocation after the start
//
// A connection has one request in flight; requests that are due wait for the next free one, in order. None is sent twice.

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
#include <sys/socket.h>
#include <time.h>

enum { HEAD_SIZE = 1 << 14, MOST_CONNECTIONS = 4096, MOST_REQUESTS = 1 << 20 };
static const uint64_t SECOND = 1000000000, PATIENCE = 30 * SECOND;
static const uint64_t PAUSE = SECOND / 1000; // longer pauses of the client make answers late
static const uint64_t SLOW = SECOND / 200;   // 5 ms: the target of the suite

struct request { const char *text; size_t size; };
struct connection {
  int socket;
  uint64_t due;      // of the request in flight
  size_t head_size;  // bytes of the head received; 0 while the body is received
  size_t body_left;
  char head[HEAD_SIZE + 1];
};

static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("paced: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  exit(1);
}

static void *allocate(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) die("no memory");
  return memory;
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * SECOND + t.tv_nsec;
}

static struct request *read_requests(const char *path, const char *token, size_t *count) {
  FILE *file = fopen(path, "r");
  if (!file) die("cannot read %s: %s", path, strerror(errno));
  struct request *requests = allocate(MOST_REQUESTS, sizeof *requests);
  char path_text[4096], *text;
  for (*count = 0; *count < MOST_REQUESTS && fscanf(file, "%4095s", path_text) == 1; ++*count) {
    int size = asprintf(&text, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", path_text, token);
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

/** Reads a complete head. @returns bytes of the body */
static size_t body_size(char *head) {
  int status;
  if (sscanf(head, "HTTP/1.%*d %d", &status) != 1) die("not an answer: %.80s", head);
  if (status < 200 || status > 299) die("an answer of status %d: %.300s", status, head);
  char *length = strcasestr(head, "\r\ncontent-length:");
  if (!length) die("an answer without Content-Length: %.300s", head);
  return strtoul(length + strlen("\r\ncontent-length:"), NULL, 10);
}

/** Reads what has arrived of an answer. @returns whether it is complete */
static int receive(struct connection *c) {
  static char scrap[1 << 16];
  int in_head = c->body_left == 0;
  ssize_t got = in_head ? recv(c->socket, c->head + c->head_size, HEAD_SIZE - c->head_size, MSG_DONTWAIT)
                        : recv(c->socket, scrap, sizeof scrap, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return 0;
  if (got <= 0) die("a connection ended: %s", got == 0 ? "closed by the server" : strerror(errno));
  if (in_head) {
    c->head[c->head_size += got] = 0;
    char *end = strstr(c->head, "\r\n\r\n");
    if (!end) {
      if (c->head_size == HEAD_SIZE) die("a head of more than %d bytes", HEAD_SIZE);
      return 0;
    }
    got = c->head_size - (end + 4 - c->head); // bytes of the body after it
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
  struct connection *all = allocate(connections, sizeof *all);
  struct epoll_event *events = allocate(connections, sizeof *events);
  int *idle = allocate(connections, sizeof *idle); // a ring: connections take turns
  for (int i = 0; i < connections; i++) {
    all[i].socket = connect_to(port);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].socket, &event) != 0) die("epoll: %s", strerror(errno));
    idle[i] = i;
  }
  uint64_t *times = allocate(total, sizeof *times);
  memset(times, 1, total * sizeof *times); // so that no page is missing later
  mlockall(MCL_CURRENT);                   // where that is allowed

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
      if (!receive(c)) continue;
      uint64_t at = now(), took = at - c->due;
      times[answered] = took;
      idle[answered++ % connections] = events[i].data.u32;
      if (took < SLOW) continue;
      slow++;
      slow_by_client += c->due < paused_until || at - turn >= PAUSE; // it paused while this was in flight
    }
  }

  qsort(times, total, sizeof *times, by_size);
#define AT(share) (times[(size_t)((total - 1) * (share))] / 1e6)
  printf("{\"requests\":%zu,\"ms\":{\"p50\":%.4f,\"p90\":%.4f,\"p99\":%.4f,\"p999\":%.4f,\"p9999\":%.4f,\"most\":%.4f},"
         "\"slow\":%zu,\"sentLate\":%zu,\"client\":{\"longestPauseMs\":%.4f,\"pauses\":%zu,\"slowByClient\":%zu}}\n",
         total, AT(0.5), AT(0.9), AT(0.99), AT(0.999), AT(0.9999), AT(1.0), slow, sent_late, longest / 1e6, pauses,
         slow_by_client);
  return 0;
}
