/* What the control groups of this process allow (Linux). */
#ifndef XFI_BASE_CONTROL_GROUP_H
#define XFI_BASE_CONTROL_GROUP_H

/* The least limit on memory, in bytes, of the groups that the file `membership` names
 * (/proc/self/cgroup) and of all groups above them, where `root` (/sys/fs/cgroup) holds the
 * hierarchies: version 2 itself or in unified/, version 1 in memory/. A group that is not there, as
 * where a container shows a part of the tree only, sets no limit. 1e300 if there is none. */
double xfi_control_group_memory(const char *root, const char *membership);

#endif
