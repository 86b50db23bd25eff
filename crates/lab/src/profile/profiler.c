/* A plugin of QEMU that counts each executed instruction of the guest by the path of calls that led to it, and each
 * nanosecond in which the processor was idle by who slept last and what the disk did. It executes nothing in the guest, so
 * the guest's clock, which counts instructions, does not notice it.
 *
 * One processor. Each translation block adds its length to `total` and stores itself in `last`; a callback comes only
 * where the function is another than in the block before. The stack pointer then says whether that is a call or a return:
 * a frame is left when the pointer is above the place of its return address. A stack belongs to the thread whose 16 KiB it
 * is in.
 *
 * A block may end early: by a fault, or since a device is accessed that QEMU asks at the end of a block only. Its rest is
 * executed in another block, and counted there, so it is taken off.
 *
 * The guest says what it does by NOPs with a magic displacement and a number in rax (crates/job/src/mark.rs), executed with
 * or without a profiler.
 *
 * Outside the kernel a page of code is known by its contents: Mountmark hashes those of the files in the guest's image. So
 * each block has its file and function, whichever process executes it and wherever it is mapped.
 *
 * With `flat=1` paths of calls are left out (flat.h).
 *
 * An iteration of a string instruction that moves or stores is an instruction of the clock, and is counted apart too: a
 * real machine copies many bytes in the time of another instruction.
 *
 * Output: lines. `n NODE PARENT FUNCTION`; `p PROGRAM NAME`, which FUNCTION minus PROGRAMS names; `w TASK PHASE BEGIN END
 * INSTRUCTIONS SKEW` begins a measured interval (times in ns of the guest), followed by its `x NODE INSTRUCTIONS`, `s
 * NODE ITERATIONS` (those of INSTRUCTIONS that are iterations of string instructions), `c NODE COUNT` (how often a system
 * call was entered), `i REQUEST NODE NS` (REQUEST as the guest marks it) and `e`. Then the guest stands still until Mountmark, which looks at
 * the disk meanwhile, has written a byte to `go`. */
#include "emulator.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((visibility("default"))) int qemu_plugin_version = 4;

enum { USER, UNKNOWN, NAMES };
/* What `function` is while the next block must call: values of no function. */
enum { TIME_OF_KERNEL = 0x7ffffff0, TIME_OF_USER, ALWAYS };
enum { PROGRAMS = 0x40000000 };
/* What is special about a function; crates/lab/src/profile/symbols.rs says which. */
enum { IS_FAULT = 1, IS_SWITCH = 2, IS_RENAME = 4, HAS_DEVICE = 8, IS_CALL = 16 };
enum { MARK_TASK = 1, MARK_CLOCK, MARK_CLOCK_READ, MARK_DISK };
enum { BEGIN = 1, END };
/* In a thread's request: it serves a disk. The rest is as the guest marks it. */
#define IS_SERVER (1ull << 63)
#define USER_END (1ull << 47)
#define PAGE 4096
#define STACK_SHIFT 14

struct counters {
    uint64_t total, function, last, has_halted, strings;
};
struct block {
    uint64_t pc;
    uint32_t n, function, slot, string_slot;
    /* 1 more than the place of its string instruction, which ends it; 0 if it has none. */
    uint32_t string;
    uint8_t flags, is_start;
    uint16_t at[];
};
struct node {
    uint32_t parent, function, is_written;
    uint64_t count, strings, entries;
};
struct frame {
    uint64_t rsp;
    uint32_t function, node;
};
struct stack {
    uint64_t key, task, request;
    uint32_t root, depth, has_user;
    struct frame frames[256];
};
struct idle {
    uint64_t request, ns;
    uint32_t node;
};
/* A symbol of the table that Mountmark wrote, sorted by address. */
struct symbol {
    uint64_t address;
    uint32_t function, flags;
};

/* A page of code outside the kernel: the hash of its contents, and its place among the symbols, where such code has
 * addresses below USER_END. Sorted by hash. */
struct page {
    uint64_t hash, place;
};

static struct symbol *symbols;
static size_t symbol_count;
static struct page *pages;
static size_t page_count;
static struct score *score;
static struct counters *now;
static FILE *out;
static struct bytes *bytes;
static void *rax, *rdx, *rsp, *rsi;
static unsigned shift, name_at, is_flat;

static struct node *nodes;
static uint32_t node_count, node_room;
static uint32_t *children;
static uint64_t child_room;
static char (*programs)[16];
static uint32_t program_count;
static struct stack **stacks;
static uint32_t stack_count;
static struct stack *thread, *sleeper;
static struct stack outside;
static uint32_t current, function, is_stale;
static uint64_t counted, counted_strings;
/* A hash table of places in `idle`, plus 1. */
static uint32_t *idle_slots, idle_count, idle_room;
static struct idle *idle;
static uint64_t task, clock_mark, tsc, tsc_total, begin_tsc, begin_total;
static int64_t skew;
static int has_begun, go;

static void fail(const char *what) {
    fprintf(stderr, "mountmark profiler: %s\n", what);
    fprintf(out, "f %s\n", what);
    fflush(out);
    _exit(1);
}

static uint64_t value(void *handle) {
    uint64_t read = 0;
    g_byte_array_set_size(bytes, 0);
    int size = qemu_plugin_read_register(handle, bytes);
    if (size < 8 && bytes->length < 8)
        fail("a register cannot be read");
    memcpy(&read, bytes->data, 8);
    return read;
}

static uint64_t word(uint64_t address) {
    uint64_t read;
    if (!qemu_plugin_read_memory_vaddr(address, bytes, 8))
        return 0;
    memcpy(&read, bytes->data, 8);
    return read;
}

static const struct symbol *symbol_at(uint64_t pc) {
    size_t low = 0, high = symbol_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (symbols[middle].address <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &symbols[low - 1] : NULL;
}

/* The function outside the kernel that the code at an address is of; USER if its page is of no known file. */
static uint32_t program_function(uint64_t pc) {
    if (!page_count || !qemu_plugin_read_memory_vaddr(pc & ~(PAGE - 1ull), bytes, PAGE) || bytes->length < PAGE)
        return USER;
    uint64_t hash = 0, word;
    for (size_t at = 0; at < PAGE; at += sizeof word) {
        memcpy(&word, bytes->data + at, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 29;
    }
    size_t low = 0, high = page_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (pages[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == page_count || pages[low].hash != hash)
        return USER;
    const struct symbol *symbol = symbol_at(pages[low].place + pc % PAGE);
    return symbol ? symbol->function : USER;
}

static uint64_t slot_of(uint32_t parent, uint32_t function) {
    uint64_t slot = (((uint64_t)parent << 32 | function) * 0x9e3779b97f4a7c15ull) >> 20;
    for (;; slot++) {
        slot &= child_room - 1;
        uint32_t node = children[slot];
        if (!node || (nodes[node].parent == parent && nodes[node].function == function))
            return slot;
    }
}

/* The node of `function` called from `parent`; 0 is the root of all. */
static uint32_t child(uint32_t parent, uint32_t function) {
    uint64_t slot = slot_of(parent, function);
    if (children[slot])
        return children[slot];
    if (node_count == node_room) {
        node_room *= 2;
        child_room = 4ull * node_room;
        nodes = realloc(nodes, node_room * sizeof *nodes);
        free(children);
        children = calloc(child_room, sizeof *children);
        if (!nodes || !children)
            fail("this machine has no memory for so many paths of calls");
        for (uint32_t node = 1; node < node_count; node++)
            children[slot_of(nodes[node].parent, nodes[node].function)] = node;
        slot = slot_of(parent, function);
    }
    nodes[node_count] = (struct node){.parent = parent, .function = function};
    children[slot] = node_count;
    return node_count++;
}

/* The root of a program's paths. */
static uint32_t root_of(const char *name) {
    char wanted[16] = {0};
    for (int at = 0; at < 15 && name[at]; at++)
        wanted[at] = name[at] == '\n' ? '?' : name[at];
    for (uint32_t at = 0; at < program_count; at++)
        if (!memcmp(programs[at], wanted, 16))
            return child(0, PROGRAMS + at);
    programs = realloc(programs, (program_count + 1) * 16);
    if (!programs)
        fail("this machine has no memory for so many programs");
    memcpy(programs[program_count], wanted, 16);
    fprintf(out, "p %u %s\n", program_count, wanted);
    return child(0, PROGRAMS + program_count++);
}

static struct stack *stack_of(uint64_t rsp) {
    static struct stack *recent;
    uint64_t key = rsp >> STACK_SHIFT;
    if (recent && recent->key == key)
        return recent;
    for (uint32_t at = 0; at < stack_count; at++)
        if (stacks[at]->key == key)
            return recent = stacks[at];
    stacks = realloc(stacks, (stack_count + 1) * sizeof *stacks);
    struct stack *new = calloc(1, sizeof *new);
    if (!stacks || !new)
        fail("this machine has no memory for so many threads");
    new->key = key;
    new->root = root_of("interrupts");
    return recent = stacks[stack_count++] = new;
}

static void rename_thread(struct stack *stack) {
    if (!stack->request && qemu_plugin_read_memory_vaddr(stack->task + name_at, bytes, 16))
        stack->root = root_of((char *)bytes->data);
}

/* Counts what was executed since the last call for the path that executed it. */
static void charge(void) {
    nodes[current].count += now->total - counted;
    nodes[current].strings += now->strings - counted_strings;
    counted = now->total;
    counted_strings = now->strings;
}

/* Takes off what the last block did not execute: all from `pc` on. */
static void take_off(uint64_t pc, int itself) {
    struct block *block = (struct block *)(uintptr_t)now->last;
    if (!block || pc < block->pc || pc - block->pc > 0xffff)
        return;
    for (uint32_t at = 0; at < block->n; at++)
        if (block->pc + block->at[at] == pc) {
            now->total -= block->n - at - !itself;
            now->strings -= itself && at + 1 == block->string;
            return;
        }
}

/* Writes a node and those above it, once. */
static void write_node(uint32_t node) {
    for (; node && !nodes[node].is_written; node = nodes[node].parent) {
        fprintf(out, "n %u %u %u\n", node, nodes[node].parent, nodes[node].function);
        nodes[node].is_written = 1;
    }
}

/* `total`: all instructions that were counted. */
static void write_interval(uint64_t total) {
    for (uint32_t node = 1; node < node_count; node++)
        if (nodes[node].count || nodes[node].entries)
            write_node(node);
    for (uint32_t at = 0; at < idle_count; at++)
        write_node(idle[at].node);
    fprintf(out, "w %lx %lu %lu %lu %lu %ld\n", task, clock_mark >> 8, begin_tsc, tsc, total - begin_total, skew);
    for (uint32_t node = 0; node < node_count; node++)
        if (nodes[node].count)
            fprintf(out, "x %u %lu\n", node, nodes[node].count);
    for (uint32_t node = 0; node < node_count; node++)
        if (nodes[node].strings)
            fprintf(out, "s %u %lu\n", node, nodes[node].strings);
    for (uint32_t node = 0; node < node_count; node++)
        if (nodes[node].entries)
            fprintf(out, "c %u %lu\n", node, nodes[node].entries);
    for (uint32_t at = 0; at < idle_count; at++)
        fprintf(out, "i %lu %u %lu\n", idle[at].request, idle[at].node, idle[at].ns);
    fprintf(out, "e\n");
    fflush(out);
    char answer;
    while (read(go, &answer, 1) < 0 && errno == EINTR)
        ;
}

static uint32_t *idle_slot(uint64_t request, uint32_t node) {
    uint64_t slot = ((request << 24 ^ node) * 0x9e3779b97f4a7c15ull) >> 20;
    for (;; slot++) {
        uint32_t *at = &idle_slots[slot & (4ull * idle_room - 1)];
        if (!*at || (idle[*at - 1].request == request && idle[*at - 1].node == node))
            return at;
    }
}

static void make_idle_room(uint32_t room) {
    idle_room = room;
    idle = realloc(idle, room * sizeof *idle);
    free(idle_slots);
    idle_slots = calloc(4ull * room, sizeof *idle_slots);
    if (!idle || !idle_slots)
        fail("this machine has no memory for so many waits");
    for (uint32_t at = 0; at < idle_count; at++)
        *idle_slot(idle[at].request, idle[at].node) = at + 1;
}

static void forget_idle(void) {
    idle_count = 0;
    memset(idle_slots, 0, 4ull * idle_room * sizeof *idle_slots);
}

/* Adds idle time, in which `node` slept and a disk worked on `request`. */
static void add_idle(uint64_t request, uint32_t node, uint64_t ns) {
    if (idle_count == idle_room)
        make_idle_room(2 * idle_room);
    uint32_t *slot = idle_slot(request, node);
    if (!*slot) {
        idle[idle_count++] = (struct idle){.request = request, .node = node};
        *slot = idle_count;
    }
    idle[*slot - 1].ns += ns;
}

static void be_idle(uint64_t ns) {
    uint64_t request = 0;
    uint32_t node = sleeper ? sleeper->frames[0].node : 0;
    for (uint32_t at = 0; at < stack_count && !request; at++)
        request = stacks[at]->request & ~IS_SERVER;
    if (sleeper && sleeper->depth)
        node = sleeper->frames[sleeper->depth - 1].node;
    add_idle(request, node, ns);
}

/* The guest has read its clock, which is in rax and rdx. */
static void time_read(int by_user) {
    uint64_t time = (value(rdx) << 32) | (value(rax) & 0xffffffff);
    if (tsc) {
        int64_t jump = (int64_t)(time - tsc) - (int64_t)((now->total - tsc_total) << shift);
        if (now->has_halted && jump > 0)
            be_idle(jump);
        else
            skew += jump;
    }
    now->has_halted = 0;
    tsc = time;
    tsc_total = now->total;
    if (!by_user || !clock_mark)
        return;
    if ((clock_mark & 0xff) == BEGIN) {
        for (uint32_t node = 0; node < node_count; node++)
            nodes[node].count = nodes[node].strings = nodes[node].entries = 0;
        forget_idle();
        skew = 0;
        begin_tsc = time;
        begin_total = now->total;
        has_begun = 1;
    } else if (has_begun && task) {
        write_interval(now->total);
    }
}

/* Finds the path of the kernel's function in `block`. */
static void in_kernel(const struct block *block) {
    uint64_t pointer = value(rsp);
    if (pointer < USER_END) {
        current = child(thread->root, block->function);
        return;
    }
    struct stack *stack = stack_of(pointer);
    while (stack->depth && stack->frames[stack->depth - 1].rsp < pointer)
        stack->depth--;
    if (block->is_start && block->flags & IS_SWITCH) {
        if (thread->has_user && !thread->request)
            sleeper = thread;
        uint64_t next = value(rsi);
        if (stack->task != next) {
            stack->task = next;
            stack->has_user = stack->request = 0;
        }
        thread = stack;
        rename_thread(stack);
    }
    struct frame *top = stack->depth ? &stack->frames[stack->depth - 1] : NULL;
    if (!block->is_start && top && top->function == block->function) {
        current = top->node;
        return;
    }
    /* A jump to another function's start, with the same return address. */
    if (top && top->rsp == pointer)
        stack->depth--;
    uint32_t parent = stack->depth ? stack->frames[stack->depth - 1].node : stack->root;
    current = child(parent, block->function);
    nodes[current].entries += block->is_start && block->flags & IS_CALL;
    if (stack->depth < sizeof stack->frames / sizeof *stack->frames)
        stack->frames[stack->depth++] = (struct frame){pointer, block->function, current};
}

/* Another function than in the last block. */
static void changed(unsigned processor, void *data) {
    const struct block *block = data;
    if (block->flags & IS_FAULT && block->is_start) {
        uint64_t pointer = value(rsp);
        /* The error's bit 4: no instruction could be fetched, and none was counted. */
        if (!(word(pointer) & 16))
            take_off(word(pointer + 8), 1);
    }
    charge();
    if (now->function == TIME_OF_KERNEL || now->function == TIME_OF_USER)
        time_read(now->function == TIME_OF_USER);
    if (is_stale && !(block->flags & IS_RENAME)) {
        is_stale = 0;
        rename_thread(thread);
    }
    if (block->pc < USER_END) {
        thread->has_user = 1;
        thread->depth = 0;
        current = block->function == USER ? thread->root : child(thread->root, block->function);
    } else {
        is_stale |= block->flags & IS_RENAME;
        in_kernel(block);
    }
    function = block->function;
    now->function = function;
}

static void device_accessed(unsigned processor, uint32_t info, uint64_t address, void *pc) {
    void *where = qemu_plugin_get_hwaddr(info, address);
    if (where && qemu_plugin_hwaddr_is_io(where))
        take_off((uint64_t)(uintptr_t)pc, 0);
}

static void marked(unsigned processor, void *data) {
    uint64_t number = value(rax);
    switch ((uintptr_t)data) {
    case MARK_TASK:
        task = number;
        has_begun = 0;
        break;
    case MARK_CLOCK:
        clock_mark = number;
        break;
    case MARK_CLOCK_READ:
        clock_mark = 0;
        break;
    case MARK_DISK:
        // The servers are there before the first task; a task's own NOPs make no server of it.
        if (!thread->request && has_begun)
            break;
        charge();
        if (!thread->request) {
            thread->root = root_of("disk server");
            current = thread->root;
        }
        thread->request = IS_SERVER | number;
        break;
    }
}

static struct entry entry(size_t offset) { return (struct entry){score, offset}; }

#include "flat.h"

static void path_block(struct tb *tb, struct block *block) {
    qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, changed, READS_REGS, IF_NOT_EQUAL,
                                              entry(offsetof(struct counters, function)),
                                              block->flags & IS_FAULT && block->is_start ? ALWAYS : block->function, block);
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, ADD, entry(offsetof(struct counters, total)), block->n);
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, STORE, entry(offsetof(struct counters, last)),
                                                      (uint64_t)(uintptr_t)block);
}

/* Whether an instruction moves or stores as often as rcx says. */
static int is_string(const uint8_t *code, size_t size) {
    int repeats = 0;
    size_t at = 0;
    for (; at < size && (code[at] == 0xf2 || code[at] == 0xf3 || code[at] == 0x66 || code[at] == 0x67); at++)
        repeats |= code[at] >= 0xf2;
    at += at < size && (code[at] & 0xf0) == 0x40;
    return repeats && at + 1 == size && (code[at] >> 1 == 0xa4 >> 1 || code[at] >> 1 == 0xaa >> 1);
}

/* An iteration is another translation block each time, so that the instruction is the block's last. */
static void count_string(struct insn *insn, struct block *block, size_t at) {
    block->string = at + 1;
    if (is_flat) {
        block->string_slot = flat_slot(block->function, block->pc < USER_END, 1);
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
            insn, ADD, entry(offsetof(struct flat, slots) + 8ull * block->slot), -1ull);
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
            insn, ADD, entry(offsetof(struct flat, slots) + 8ull * block->string_slot), 1);
    } else {
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, ADD, entry(offsetof(struct counters, strings)), 1);
    }
}

static void translated(uint64_t id, struct tb *tb) {
    static const uint8_t mark[] = {0x0f, 0x1f, 0x80};
    size_t n = qemu_plugin_tb_n_insns(tb);
    struct block *block = malloc(sizeof *block + n * sizeof *block->at);
    if (!block)
        fail("this machine has no memory for so much code");
    *block = (struct block){.pc = qemu_plugin_tb_vaddr(tb), .n = n};
    if (block->pc < USER_END) {
        block->function = program_function(block->pc);
    } else {
        const struct symbol *symbol = symbol_at(block->pc);
        block->function = symbol ? symbol->function : UNKNOWN;
        block->flags = symbol ? symbol->flags : 0;
        block->is_start = symbol && symbol->address == block->pc;
    }
    if (is_flat)
        flat_block(tb, block);
    else
        path_block(tb, block);
    for (size_t at = 0; at < n; at++) {
        struct insn *insn = qemu_plugin_tb_get_insn(tb, at);
        uint64_t pc = qemu_plugin_insn_vaddr(insn);
        uint8_t code[8] = {0};
        size_t size = qemu_plugin_insn_data(insn, code, sizeof code);
        block->at[at] = pc - block->pc;
        if ((size == 2 && code[0] == 0x0f && code[1] == 0x31) || (size == 3 && !memcmp(code, "\x0f\x01\xf9", 3))) {
            if (is_flat)
                continue;
            qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, STORE, entry(offsetof(struct counters, function)),
                                                                block->pc < USER_END ? TIME_OF_USER : TIME_OF_KERNEL);
        } else if (size == 7 && !memcmp(code, mark, 3) && !memcmp(code + 4, "KMm", 3))
            qemu_plugin_register_vcpu_insn_exec_cb(insn, is_flat ? flat_marked : marked, READS_REGS, (void *)(uintptr_t)code[3]);
        else if (size == 1 && code[0] == 0xf4)
            qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
                insn, STORE, entry(is_flat ? offsetof(struct flat, has_halted) : offsetof(struct counters, has_halted)), 1);
        else if (is_string(code, size))
            count_string(insn, block, at);
        if (block->flags & HAS_DEVICE)
            qemu_plugin_register_vcpu_mem_cb(insn, is_flat ? flat_device_accessed : device_accessed, NO_REGS, READS_AND_WRITES, (void *)(uintptr_t)pc);
    }
}

static void *find_register(const struct regs *regs, const char *name) {
    for (unsigned at = 0; at < regs->length; at++)
        if (!strcmp(regs->data[at].name, name))
            return regs->data[at].handle;
    fail("this QEMU does not give the registers");
    return NULL;
}

static void started(uint64_t id, unsigned processor) {
    const struct regs *regs = qemu_plugin_get_registers();
    rax = find_register(regs, "rax");
    rdx = find_register(regs, "rdx");
    rsp = find_register(regs, "rsp");
    rsi = find_register(regs, "rsi");
    if (is_flat) {
        flat = qemu_plugin_scoreboard_find(score, processor);
        return;
    }
    now = qemu_plugin_scoreboard_find(score, processor);
    now->function = UNKNOWN;
}

/* Maps a table that Mountmark wrote, and counts its entries of this size. */
static void *read_table(const char *path, size_t size, size_t *count) {
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &about))
        return NULL;
    void *table = mmap(NULL, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    *count = table == MAP_FAILED ? 0 : about.st_size / size;
    close(file);
    return table;
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const struct info *info, int count, char **words) {
    for (int at = 0; at < count; at++) {
        char *text = strchr(words[at], '=');
        if (!text)
            continue;
        text++;
        if (!strncmp(words[at], "symbols=", 8))
            symbols = read_table(text, sizeof *symbols, &symbol_count);
        else if (!strncmp(words[at], "pages=", 6))
            pages = read_table(text, sizeof *pages, &page_count);
        else if (!strncmp(words[at], "out=", 4))
            out = fopen(text, "we");
        else if (!strncmp(words[at], "go=", 3))
            go = open(text, O_RDWR | O_CLOEXEC);
        else if (!strncmp(words[at], "shift=", 6))
            shift = atoi(text);
        else if (!strncmp(words[at], "name=", 5))
            name_at = atoi(text);
        else if (!strncmp(words[at], "flat=", 5))
            is_flat = atoi(text);
    }
    if (!out || go <= 0 || !symbol_count || !info->system || info->processors != 1) {
        fprintf(stderr, "mountmark profiler: wrong arguments\n");
        return 1;
    }
    bytes = g_byte_array_new();
    node_room = 1 << 16;
    child_room = 4ull * node_room;
    nodes = calloc(node_room, sizeof *nodes);
    children = calloc(child_room, sizeof *children);
    score = qemu_plugin_scoreboard_new(is_flat ? sizeof(struct flat) : sizeof(struct counters));
    if (!nodes || !children || !score)
        return 1;
    node_count = 1;
    make_idle_room(4096);
    thread = &outside;
    outside.root = root_of("unknown");
    qemu_plugin_register_vcpu_init_cb(id, started);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
