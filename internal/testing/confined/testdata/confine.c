/* Runs a program in a process that lacks facilities of the system: confine OPTION... -- PROGRAM ARGUMENT...
 *
 *   keep=FOLDER    a folder below /tmp that stays visible, for the options that cover /tmp
 *   tmp            /tmp is empty
 *   noexec         /tmp is empty, and no code in it may be executed
 *   readonly       no file system can be written, /tmp neither
 *   noproc         there is no /proc
 *   noshm          there is no /dev/shm
 *   memfd=ERROR    memfd_create fails: EPERM, ENOSYS
 *   tmpfile=ERROR  a file without a name cannot be made (O_TMPFILE)
 *   user=NUMBER    the program belongs to this user
 *
 * The options apply in the order of this list. The status is the program's, 128 + N for signal N. 120: what was asked
 * for is forbidden here, which the last line of the standard error explains; 121: the program left files in /tmp. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORBIDDEN = 120, LEFT = 121 };

static void need(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "confine: %s: %s\n", what, strerror(errno));
  _exit(FORBIDDEN);
}

/* ---- options ---- */

static char** options;
static int num_options;

/* The value of an option, "" if it has none; NULL: it was not given. *at continues a search. */
static const char* next_option(const char* name, int* at) {
  size_t n = strlen(name);
  for (; *at < num_options; ++*at) {
    const char* o = options[*at];
    if (strncmp(o, name, n) != 0 || (o[n] != 0 && o[n] != '=')) continue;
    ++*at;
    return o[n] == 0 ? o + n : o + n + 1;
  }
  return NULL;
}

static const char* option(const char* name) {
  int at = 0;
  return next_option(name, &at);
}

/* ---- mounts ---- */

static void write_file(const char* path, const char* text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
  close(fd);
}

/* A user who is not root is root of a namespace of its own. */
static void new_namespace(void) {
  char text[64];
  unsigned uid = getuid(), gid = getgid();
  if (geteuid() == 0) {
    need(unshare(CLONE_NEWNS) == 0, "a namespace of mounts");
  } else {
    need(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0, "a namespace of users and mounts");
    write_file("/proc/self/setgroups", "deny");
    snprintf(text, sizeof text, "%u %u 1", uid, uid);
    write_file("/proc/self/uid_map", text);
    snprintf(text, sizeof text, "%u %u 1", gid, gid);
    write_file("/proc/self/gid_map", text);
  }
  need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private mounts");
}

static void make_folders(const char* path) {
  char part[4096];
  for (const char* slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
    size_t n = slash == NULL ? strlen(path) : (size_t)(slash - path);
    snprintf(part, sizeof part, "%.*s", (int)n, path);
    need(mkdir(part, 0755) == 0 || errno == EEXIST, part);
    if (slash == NULL) return;
  }
}

static void cover_tmp(unsigned long flags) {
  char stage[] = "/tmp/confine-XXXXXX", inside[4096];
  const char* folder;
  int at = 0;
  need(mkdtemp(stage) != NULL, "a folder in /tmp");
  need(mount("confine", stage, "tmpfs", MS_NOSUID | flags, "mode=1777") == 0, "a file system for /tmp");
  while ((folder = next_option("keep", &at)) != NULL) {
    if (strncmp(folder, "/tmp/", 5) != 0) continue;
    snprintf(inside, sizeof inside, "%s%s", stage, folder + 4);
    make_folders(inside);
    need(mount(folder, inside, NULL, MS_BIND | MS_REC, NULL) == 0, folder);
  }
  int old = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
  need(mount(stage, "/tmp", NULL, MS_MOVE, NULL) == 0, "/tmp");
  need(old >= 0 && unlinkat(old, strrchr(stage, '/') + 1, AT_REMOVEDIR) == 0, stage);
  close(old);
}

static void make_read_only(void) {
  struct { uint64_t set, clear, propagation, fd; } change = {1 /* MOUNT_ATTR_RDONLY */, 0, 0, 0};
  need(syscall(442 /* mount_setattr */, -1, "/", 0x8000 /* AT_RECURSIVE */, &change, sizeof change) == 0,
       "read-only file systems");
}

static void cover_dev(void) {
  static const char* const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};
  char stage[] = "/tmp/confine-XXXXXX", from[64], to[64];
  need(mkdtemp(stage) != NULL, "a folder in /tmp");
  need(mount("confine", stage, "tmpfs", MS_NOSUID, "mode=755") == 0, "a file system for /dev");
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    snprintf(from, sizeof from, "/dev/%s", devices[i]);
    snprintf(to, sizeof to, "%s/%s", stage, devices[i]);
    int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    need(fd >= 0 && close(fd) == 0 && mount(from, to, NULL, MS_BIND, NULL) == 0, from);
  }
  need(mount(stage, "/dev", NULL, MS_MOVE, NULL) == 0 && rmdir(stage) == 0, "/dev");
}

/* ---- system calls ---- */

static int number_of(const char* error) {
  return strcmp(error, "EPERM") == 0 ? EPERM : strcmp(error, "ENOSYS") == 0 ? ENOSYS : EOPNOTSUPP;
}

/* Adds a rule to the filters of this process and of all that it starts: the call fails, if argument arg has all the
 * bits. Bits 0: always. */
static void forbid(unsigned call, unsigned arg, uint32_t bits, const char* error) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * arg),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)number_of(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
  need(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "a filter of system calls");
}

/* ---- what is left ---- */

static int is_kept(const char* name) {
  const char* folder;
  int at = 0;
  size_t n = strlen(name);
  while ((folder = next_option("keep", &at)) != NULL)
    if (strncmp(folder, "/tmp/", 5) == 0 && strncmp(folder + 5, name, n) == 0 &&
        (folder[5 + n] == 0 || folder[5 + n] == '/'))
      return 1;
  return 0;
}

static int report_left(void) {
  DIR* d = opendir("/tmp");
  int left = 0;
  for (struct dirent* e; d != NULL && (e = readdir(d)) != NULL;) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || is_kept(e->d_name)) continue;
    fprintf(stderr, "confine: left in /tmp: %s\n", e->d_name);
    left = 1;
  }
  if (d != NULL) closedir(d);
  return left;
}

int main(int argc, char** argv) {
  const char* value;
  while (1 + num_options < argc && strcmp(argv[1 + num_options], "--") != 0) num_options++;
  options = argv + 1;
  char** program = argv + num_options + 2;
  if (num_options + 2 >= argc) return 2;
  int covered = option("tmp") != NULL || option("noexec") != NULL;
  char folder[4096]; /* of the caller, which may be covered */
  need(getcwd(folder, sizeof folder) != NULL, "the current folder");
  new_namespace();
  if (option("noshm") != NULL) cover_dev();
  if (covered) cover_tmp(option("noexec") != NULL ? MS_NOEXEC : 0);
  if (chdir(folder) != 0) need(chdir("/") == 0, "/");
  if (option("readonly") != NULL) make_read_only();
  if (option("noproc") != NULL) need(mount("confine", "/proc", "tmpfs", MS_RDONLY, "mode=555") == 0, "/proc");
  pid_t child = fork();
  need(child >= 0, "fork");
  if (child == 0) {
    if ((value = option("user")) != NULL)
      need(setresgid((gid_t)atoi(value), (gid_t)atoi(value), (gid_t)atoi(value)) == 0 &&
               setresuid((uid_t)atoi(value), (uid_t)atoi(value), (uid_t)atoi(value)) == 0,
           "another user");
    if ((value = option("tmpfile")) != NULL) {
      forbid(SYS_openat, 2, O_TMPFILE, value);
#ifdef SYS_open
      forbid(SYS_open, 1, O_TMPFILE, value);
#endif
    }
    if ((value = option("memfd")) != NULL) forbid(SYS_memfd_create, 0, 0, value);
    execvp(program[0], program);
    fprintf(stderr, "confine: %s: %s\n", program[0], strerror(errno));
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (covered && option("readonly") == NULL && report_left()) return LEFT;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
