/* Notes every write that was not synced yet, so that `power_loss.py` can undo it: a loss of power on one machine.
 *
 * Loaded with LD_PRELOAD. Files below $POWER_LOSS_UNDER are watched. Before a write, what it overwrites goes to the
 * journal $POWER_LOSS_JOURNAL; a sync of a file is a line there, too. Writes by mmap are not seen: of SQLite's files
 * only -shm is written so, and that one is made anew.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct head {
  char kind; /* W: a write, T: a truncation, S: a sync */
  uint64_t offset, length, size, old; /* of the write; the file's size before; how many old bytes follow */
  uint32_t path;
} __attribute__((packed));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int journal = -2;

static int watched(int fd, char *path, size_t room) {
  const char *under = getenv("POWER_LOSS_UNDER"), *file = getenv("POWER_LOSS_JOURNAL");
  char link[64] = "/proc/self/fd/", digits[16];
  int n = 0, at = 14, number = fd;
  ssize_t size;
  if (!under || !file || fd < 0) return 0;
  do digits[n++] = '0' + number % 10;
  while (number /= 10);
  while (n) link[at++] = digits[--n];
  link[at] = 0;
  size = readlink(link, path, room - 1);
  if (size <= 0) return 0;
  path[size] = 0;
  if (strncmp(path, under, strlen(under)) || strstr(path, "-shm")) return 0;
  if (journal == -2) journal = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  return journal >= 0;
}

static void note(char kind, int fd, uint64_t offset, uint64_t length) {
  char path[4096];
  struct stat status;
  struct head head;
  struct iovec parts[3];
  char *old = NULL;
  if (!watched(fd, path, sizeof path) || fstat(fd, &status) || !S_ISREG(status.st_mode)) return;
  head.kind = kind, head.offset = offset, head.length = length, head.size = (uint64_t)status.st_size, head.old = 0;
  head.path = (uint32_t)strlen(path);
  if (kind != 'S' && offset < head.size) {
    uint64_t rest = head.size - offset;
    uint64_t wanted = kind == 'W' && length < rest ? length : rest;
    old = malloc(wanted ? wanted : 1);
    long got = syscall(SYS_pread64, fd, old, wanted, offset);
    head.old = got > 0 ? (uint64_t)got : 0;
  }
  parts[0] = (struct iovec){&head, sizeof head};
  parts[1] = (struct iovec){path, head.path};
  parts[2] = (struct iovec){old, head.old};
  syscall(SYS_writev, journal, parts, 3);
  free(old);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  pthread_mutex_lock(&lock);
  note('W', fd, (uint64_t)at, size);
  ssize_t done = syscall(SYS_pwrite64, fd, data, size, at);
  pthread_mutex_unlock(&lock);
  return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }

ssize_t write(int fd, const void *data, size_t size) {
  pthread_mutex_lock(&lock);
  off_t at = lseek(fd, 0, SEEK_CUR);
  if (at >= 0) note('W', fd, (uint64_t)at, size);
  ssize_t done = syscall(SYS_write, fd, data, size);
  pthread_mutex_unlock(&lock);
  return done;
}

int ftruncate64(int fd, off64_t size) {
  pthread_mutex_lock(&lock);
  note('T', fd, (uint64_t)size, 0);
  int done = (int)syscall(SYS_ftruncate, fd, size);
  pthread_mutex_unlock(&lock);
  return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int synced(int fd, long call) {
  pthread_mutex_lock(&lock);
  int done = (int)syscall(call, fd);
  if (!done) note('S', fd, 0, 0);
  pthread_mutex_unlock(&lock);
  return done;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }
