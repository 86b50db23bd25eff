/* What this plugin uses of QEMU's plugin interface, version 4 (QEMU 10.0), and of GLib, which QEMU has loaded. Declared by
 * hand, so that neither's headers are needed to build Mountmark. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tb;
struct insn;
struct score;
struct entry {
    struct score *score;
    size_t offset;
};
struct info {
    const char *target;
    struct {
        int min, cur;
    } version;
    bool system;
    int processors, most_processors;
};
struct bytes {
    uint8_t *data;
    unsigned length;
};
struct reg {
    void *handle;
    const char *name, *feature;
};
struct regs {
    struct reg *data;
    unsigned length;
};
enum { NO_REGS, READS_REGS };
enum { ADD, STORE };
enum { IF_NOT_EQUAL = 3 };
enum { READS = 1, WRITES, READS_AND_WRITES };

typedef void (*seen)(unsigned processor, void *data);
typedef void (*accessed)(unsigned processor, uint32_t info, uint64_t address, void *data);

void qemu_plugin_register_vcpu_init_cb(uint64_t, void (*)(uint64_t, unsigned));
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t, void (*)(uint64_t, struct tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct tb *, seen, int flags, void *);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct tb *, seen, int flags, int condition, struct entry, uint64_t, void *);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct tb *, int operation, struct entry, uint64_t);
void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *, seen, int flags, void *);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct insn *, int operation, struct entry, uint64_t);
void qemu_plugin_register_vcpu_mem_cb(struct insn *, accessed, int flags, int direction, void *);
void *qemu_plugin_get_hwaddr(uint32_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const void *);
size_t qemu_plugin_tb_n_insns(const struct tb *);
uint64_t qemu_plugin_tb_vaddr(const struct tb *);
struct insn *qemu_plugin_tb_get_insn(const struct tb *, size_t);
size_t qemu_plugin_insn_data(const struct insn *, void *, size_t);
size_t qemu_plugin_insn_size(const struct insn *);
uint64_t qemu_plugin_insn_vaddr(const struct insn *);
struct regs *qemu_plugin_get_registers(void);
int qemu_plugin_read_register(void *, struct bytes *);
bool qemu_plugin_read_memory_vaddr(uint64_t, struct bytes *, size_t);
struct score *qemu_plugin_scoreboard_new(size_t);
void *qemu_plugin_scoreboard_find(struct score *, unsigned);

struct bytes *g_byte_array_new(void);
struct bytes *g_byte_array_set_size(struct bytes *, unsigned);
