/* Counting by function alone, without paths of calls: a translation block adds its length to a counter of its function, which
 * needs no callback. What a thread has executed of its own (a program's instructions, all of a disk's server) is told
 * where the kernel switches to another thread. */

enum { SLOTS = 1 << 15 };
struct flat {
    /* `by_programs`: instructions outside the kernel. */
    uint64_t last, has_halted, clock_mark, by_programs, slots[SLOTS];
};
/* A thread, by the address of its description. */
struct flat_thread {
    uint64_t task, request;
    uint32_t root, has_user, is_stale;
};

static struct flat *flat;
static uint32_t flat_functions[SLOTS] = {USER, UNKNOWN}, flat_slots = 2;
/* Whether a slot has iterations of string instructions; the function has another for the rest. */
static uint8_t flat_is_string[SLOTS];
/* Slots of functions outside the kernel; USER is one. */
static uint32_t flat_programs[SLOTS], flat_program_count = 1;
static uint8_t flat_is_program[SLOTS] = {1};
/* The two slots of each function; 0 if it has none yet. */
static uint32_t *flat_slot_of, flat_room;
/* Counters as they were when the disk's server was switched to. */
static uint64_t flat_before[SLOTS], flat_served;
/* Counters outside the kernel as they were when they were last given to a thread. */
static uint64_t flat_given[SLOTS], flat_programs_given;
static struct flat_thread *flat_threads[4096], *flat_now, *flat_sleeper;
static uint32_t flat_count;

static uint32_t flat_slot(uint32_t function, int is_program, int is_string) {
    if (function < 2 && !is_string)
        return function;
    uint32_t at = 2 * function + is_string;
    if (at >= flat_room) {
        uint32_t room = at + 8192;
        flat_slot_of = realloc(flat_slot_of, room * sizeof *flat_slot_of);
        if (!flat_slot_of)
            fail("this machine has no memory for so many functions");
        memset(flat_slot_of + flat_room, 0, (room - flat_room) * sizeof *flat_slot_of);
        flat_room = room;
    }
    if (!flat_slot_of[at] && flat_slots < SLOTS) {
        if (is_program) {
            flat_programs[flat_program_count++] = flat_slots;
            flat_is_program[flat_slots] = 1;
        }
        flat_functions[flat_slots] = function;
        flat_is_string[flat_slots] = is_string;
        flat_slot_of[at] = flat_slots++;
    }
    /* Without room: of a program, or of the kernel, and no more is known. */
    return flat_slot_of[at] ? flat_slot_of[at] : is_program ? USER : UNKNOWN;
}

/* Counts what a slot has for the function's node below a root. */
static void flat_count_for(uint32_t root, uint32_t slot, uint64_t executed) {
    uint32_t node = flat_functions[slot] == USER ? root : child(root, flat_functions[slot]);
    nodes[node].count += executed;
    nodes[node].strings += flat_is_string[slot] ? executed : 0;
}

/* All instructions since the interval began. */
static uint64_t flat_total(void) {
    uint64_t total = flat_served;
    for (uint32_t slot = 0; slot < flat_slots; slot++)
        total += flat->slots[slot];
    return total;
}

static void flat_rename(struct flat_thread *thread) {
    thread->is_stale = 0;
    if (!thread->request && qemu_plugin_read_memory_vaddr(thread->task + name_at, bytes, 16))
        thread->root = root_of((char *)bytes->data);
}

/* Gives what was executed since the last call to the thread that executed it. */
static void flat_charge(void) {
    if (flat_now && flat_now->is_stale)
        flat_rename(flat_now);
    if (flat_now && flat_now->request) {
        uint64_t served = 0;
        for (uint32_t slot = 0; slot < flat_slots; slot++) {
            served += flat->slots[slot] - flat_before[slot];
            flat->slots[slot] = flat_before[slot];
        }
        nodes[flat_now->root].count += served;
        flat_served += served;
    } else if (flat->by_programs != flat_programs_given) {
        uint32_t root = flat_now ? flat_now->root : outside.root;
        for (uint32_t at = 0; at < flat_program_count; at++) {
            uint32_t slot = flat_programs[at];
            uint64_t executed = flat->slots[slot] - flat_given[slot];
            if (!executed)
                continue;
            flat_count_for(root, slot, executed);
            flat_given[slot] = flat->slots[slot];
        }
        if (flat_now)
            flat_now->has_user = 1;
    }
    flat_programs_given = flat->by_programs;
}

/* From here on all counts are the current thread's, if it serves a disk. */
static void flat_begin_serving(void) { memcpy(flat_before, flat->slots, flat_slots * sizeof *flat_before); }

/* The kernel switches to the task whose description is in rsi. */
static void flat_switch(unsigned processor, void *data) {
    uint64_t next = value(rsi);
    flat_charge();
    if (flat_now && flat_now->has_user && !flat_now->request)
        flat_sleeper = flat_now;
    struct flat_thread *found = NULL;
    for (uint32_t at = 0; at < flat_count && !found; at++)
        if (flat_threads[at]->task == next)
            found = flat_threads[at];
    if (!found) {
        if (flat_count == sizeof flat_threads / sizeof *flat_threads || !(found = calloc(1, sizeof *found)))
            fail("this machine has no memory for so many threads");
        found->task = next;
        flat_threads[flat_count++] = found;
    }
    flat_now = found;
    flat_rename(found);
    if (found->request)
        flat_begin_serving();
}

/* The current thread gets another name: what it executes from now on is another program's. */
static void flat_renamed(unsigned processor, void *data) {
    flat_charge();
    if (flat_now)
        flat_now->is_stale = 1;
}

static void flat_take_off(uint64_t pc, int itself) {
    struct block *block = (struct block *)(uintptr_t)flat->last;
    if (!block || pc < block->pc || pc - block->pc > 0xffff)
        return;
    for (uint32_t at = 0; at < block->n; at++)
        if (block->pc + block->at[at] == pc) {
            flat->slots[block->slot] -= block->n - at - !itself;
            if (itself && at + 1 == block->string) {
                flat->slots[block->slot]++;
                flat->slots[block->string_slot]--;
            }
            return;
        }
}

static void flat_fault(unsigned processor, void *data) {
    uint64_t pointer = value(rsp);
    /* As in `changed`. */
    if (!(word(pointer) & 16))
        flat_take_off(word(pointer + 8), 1);
}

static void flat_device_accessed(unsigned processor, uint32_t info, uint64_t address, void *pc) {
    void *where = qemu_plugin_get_hwaddr(info, address);
    if (where && qemu_plugin_hwaddr_is_io(where))
        flat_take_off((uint64_t)(uintptr_t)pc, 0);
}

static void flat_idle(uint64_t ns) {
    uint64_t request = 0;
    for (uint32_t at = 0; at < flat_count && !request; at++)
        request = flat_threads[at]->request & ~IS_SERVER;
    add_idle(request, flat_sleeper ? flat_sleeper->root : 0, ns);
}

/* The guest has read its clock after it was idle, or for a mark: the time is in rax and rdx. */
static void flat_time_read(unsigned processor, void *data) {
    uint64_t time = (value(rdx) << 32) | (value(rax) & 0xffffffff), total = flat_total();
    if (tsc) {
        int64_t jump = (int64_t)(time - tsc) - (int64_t)((total - tsc_total) << shift);
        if (flat->has_halted && jump > 0)
            flat_idle(jump);
        else
            skew += jump;
    }
    flat->has_halted = 0;
    tsc = time;
    tsc_total = total;
    if (!flat->clock_mark || !data)
        return;
    flat_charge();
    if ((clock_mark & 0xff) == BEGIN) {
        for (uint32_t node = 0; node < node_count; node++)
            nodes[node].count = nodes[node].strings = 0;
        memset(flat->slots, 0, flat_slots * sizeof *flat->slots);
        memset(flat_given, 0, flat_slots * sizeof *flat_given);
        flat_served = 0;
        forget_idle();
        skew = 0;
        begin_tsc = time;
        begin_total = tsc_total = 0;
        has_begun = 1;
    } else if (has_begun && task) {
        uint32_t kernel = root_of("any program");
        for (uint32_t slot = 1; slot < flat_slots; slot++)
            if (flat->slots[slot] && !flat_is_program[slot])
                flat_count_for(kernel, slot, flat->slots[slot]);
        write_interval(total);
        for (uint32_t slot = 1; slot < flat_slots; slot++)
            if (flat->slots[slot] && !flat_is_program[slot]) {
                uint32_t node = child(kernel, flat_functions[slot]);
                nodes[node].count = nodes[node].strings = 0;
            }
    }
}

static void flat_marked(unsigned processor, void *data) {
    uint64_t number = value(rax);
    switch ((uintptr_t)data) {
    case MARK_TASK:
        task = number;
        has_begun = 0;
        break;
    case MARK_CLOCK:
        clock_mark = flat->clock_mark = number;
        break;
    case MARK_CLOCK_READ:
        clock_mark = flat->clock_mark = 0;
        break;
    case MARK_DISK:
        /* As in `marked`. */
        if (!flat_now || (!flat_now->request && has_begun))
            break;
        if (!flat_now->request) {
            flat_charge();
            flat_now->root = root_of("disk server");
            flat_begin_serving();
        }
        flat_now->request = IS_SERVER | number;
        break;
    }
}

/* Whether the instruction before this address reads the clock. It ends its block, as all that read devices do. */
static int follows_clock(uint64_t pc) {
    if (!qemu_plugin_read_memory_vaddr(pc - 3, bytes, 3))
        return 0;
    return !memcmp(bytes->data + 1, "\x0f\x31", 2) || !memcmp(bytes->data, "\x0f\x01\xf9", 3);
}

static void flat_block(struct tb *tb, struct block *block) {
    int is_program = block->pc < USER_END;
    block->slot = flat_slot(block->function, is_program, 0);
    if (follows_clock(block->pc))
        qemu_plugin_register_vcpu_tb_exec_cond_cb(
            tb, flat_time_read, READS_REGS, IF_NOT_EQUAL,
            entry(is_program ? offsetof(struct flat, clock_mark) : offsetof(struct flat, has_halted)), 0,
            (void *)(uintptr_t)is_program);
    if (block->is_start && block->flags & (IS_FAULT | IS_SWITCH | IS_RENAME))
        qemu_plugin_register_vcpu_tb_exec_cb(tb,
                                             block->flags & IS_FAULT    ? flat_fault
                                             : block->flags & IS_SWITCH ? flat_switch
                                                                        : flat_renamed,
                                             READS_REGS, NULL);
    if (is_program)
        qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, ADD, entry(offsetof(struct flat, by_programs)), block->n);
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, ADD, entry(offsetof(struct flat, slots) + 8ull * block->slot), block->n);
    qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, STORE, entry(offsetof(struct flat, last)), (uint64_t)(uintptr_t)block);
}
