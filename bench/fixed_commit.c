/* Makes each wait for the disk last the same, so that figures do not swing with the disk: loaded with LD_PRELOAD by
 * `bench/session_loop.py`. A sync takes $COMMIT_MICROSECONDS and writes nothing of its own.
 */
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static int wait_for_disk(void) {
  static long microseconds = -1;
  if (microseconds < 0) {
    const char *text = getenv("COMMIT_MICROSECONDS");
    microseconds = text ? atol(text) : 0;
  }
  if (microseconds > 0) {
    struct timespec span = {microseconds / 1000000, microseconds % 1000000 * 1000};
    prctl(PR_SET_TIMERSLACK, 1UL); /* else the kernel adds 50 microseconds */
    nanosleep(&span, NULL);
  }
  return 0;
}

int fsync(int file) {
  (void)file;
  return wait_for_disk();
}

int fdatasync(int file) {
  (void)file;
  return wait_for_disk();
}
