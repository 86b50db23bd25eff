//! The program of a guest. `mountmark` finds it beside itself.

fn main() {
    mountmark_guest::main()
}
