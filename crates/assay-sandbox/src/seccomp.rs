//! The system call filter of a bubblewrap sandbox.
//!
//! Capabilities, namespaces and mounts decide what the sandbox can reach; this filter covers what
//! they leave open: the kernel's keyrings, which no namespace isolates, sockets to the hypervisor,
//! which no network namespace covers, and large parts of the kernel that no task needs. It is a
//! deny list modelled on Docker's default profile; every other 64-bit call is allowed. Unlike in
//! Docker, 32-bit programs are killed.
//!
//! The program is classic BPF (`Documentation/userspace-api/seccomp_filter.rst` of Linux), given to
//! bubblewrap as bytes.

/// `AF_VSOCK`: sockets between a virtual machine and its host (`linux/socket.h`).
const AF_VSOCK: u32 = 40;

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;
const EAFNOSUPPORT: u32 = 97;

/// Bit of the system call numbers of x32, the ABI of x86-64 with short pointers (`asm/unistd.h`).
const X32: u32 = 0x4000_0000;

/// Verdicts (`linux/seccomp.h`). The lower half of `ERRNO` is the error.
const KILL_PROCESS: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;
const ALLOW: u32 = 0x7fff_0000;

/// Offsets in `struct seccomp_data`: the call's number, the architecture, and the lower half of the
/// first argument on a little-endian machine, which all of [`ARCHITECTURES`] are.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

/// Instructions (`linux/bpf_common.h`): load a word, jump if equal, jump if greater or equal,
/// return.
const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

/// An architecture that the filter is written for.
#[derive(Debug)]
struct Architecture {
    /// As Rust names it.
    name: &'static str,
    /// As the kernel numbers it (`AUDIT_ARCH_*`, `linux/audit.h`).
    audit: u32,
    /// Whether x32 calls have to be distinguished from its own.
    has_x32: bool,
    /// The number of `socket`.
    socket: u32,
    /// Its column in [`REFUSED`].
    column: usize,
}

const ARCHITECTURES: [Architecture; 2] = [
    Architecture { name: "x86_64", audit: 0xc000_003e, has_x32: true, socket: 41, column: 0 },
    Architecture { name: "aarch64", audit: 0xc000_00b7, has_x32: false, socket: 198, column: 1 },
];

/// A call that the architecture does not have.
const NONE: u32 = u32::MAX;

/// The refused calls: name, and number on x86-64 (`arch/x86/entry/syscalls/syscall_64.tbl`) and on
/// aarch64 (`include/uapi/asm-generic/unistd.h`).
///
/// Not on the list, although Docker refuses them: `clone` and `unshare` of namespaces, because
/// bubblewrap's `--disable-userns` prevents new user namespaces and all others need a capability;
/// and calls about NUMA memory, which affect a process's own pages.
const REFUSED: [(&str, [u32; 2]); 46] = [
    // Keyrings: shared by all processes of a session or a user, whatever their namespaces.
    ("add_key", [248, 217]),
    ("keyctl", [250, 219]),
    ("request_key", [249, 218]),
    // Available to every process, large, and often vulnerable.
    ("bpf", [321, 280]),
    ("fanotify_init", [300, 262]),
    ("io_uring_enter", [426, 426]),
    ("io_uring_register", [427, 427]),
    ("io_uring_setup", [425, 425]),
    ("perf_event_open", [298, 241]),
    ("userfaultfd", [323, 282]),
    // The host's kernel log, if the host lets everyone read it.
    ("syslog", [103, 116]),
    // The following need a capability that no process inside has. The filter is defence in depth.
    ("acct", [163, 89]),
    ("clock_settime", [227, 112]),
    ("delete_module", [176, 106]),
    ("finit_module", [313, 273]),
    ("fsconfig", [431, 431]),
    ("fsmount", [432, 432]),
    ("fsopen", [430, 430]),
    ("fspick", [433, 433]),
    ("init_module", [175, 105]),
    ("ioperm", [173, NONE]),
    ("iopl", [172, NONE]),
    ("kexec_file_load", [320, 294]),
    ("kexec_load", [246, 104]),
    ("lookup_dcookie", [212, 18]),
    ("mount", [165, 40]),
    ("mount_setattr", [442, 442]),
    ("move_mount", [429, 429]),
    ("nfsservctl", [180, 42]),
    ("open_by_handle_at", [304, 265]),
    ("open_tree", [428, 428]),
    ("pivot_root", [155, 41]),
    ("quotactl", [179, 60]),
    ("quotactl_fd", [443, 443]),
    ("reboot", [169, 142]),
    ("setdomainname", [171, 162]),
    ("sethostname", [170, 161]),
    ("setns", [308, 268]),
    ("settimeofday", [164, 170]),
    ("swapoff", [168, 225]),
    ("swapon", [167, 224]),
    ("umount2", [166, 39]),
    // Obsolete.
    ("_sysctl", [156, NONE]),
    ("sysfs", [139, NONE]),
    ("uselib", [134, NONE]),
    ("ustat", [136, NONE]),
];

/// The filter for programs of an architecture, as named by Rust (`std::env::consts::ARCH`); `None`
/// if there is no table for it.
pub(crate) fn filter(architecture: &str) -> Option<Vec<u8>> {
    ARCHITECTURES.iter().find(|known| known.name == architecture).map(assemble)
}

/// One instruction, as `struct sock_filter` lays it out (`linux/filter.h`).
fn instruction(code: u16, if_true: u8, if_false: u8, value: u32) -> [u8; 8] {
    let [code_low, code_high] = code.to_le_bytes();
    let [a, b, c, d] = value.to_le_bytes();
    [code_low, code_high, if_true, if_false, a, b, c, d]
}

fn assemble(architecture: &Architecture) -> Vec<u8> {
    let verdict = |value| instruction(RETURN, 0, 0, value);
    let mut program = vec![
        // A 64-bit process can make 32-bit calls too, whose numbers have other meanings.
        instruction(LOAD, 0, 0, ARCHITECTURE),
        instruction(JUMP_EQUAL, 1, 0, architecture.audit),
        verdict(KILL_PROCESS),
        instruction(LOAD, 0, 0, NUMBER),
    ];
    if architecture.has_x32 {
        // As on a kernel without x32.
        program.push(instruction(JUMP_AT_LEAST, 0, 1, X32));
        program.push(verdict(ERRNO | ENOSYS));
    }
    for (_, numbers) in REFUSED {
        let number = numbers[architecture.column];
        if number != NONE {
            program.push(instruction(JUMP_EQUAL, 0, 1, number));
            program.push(verdict(ERRNO | EPERM));
        }
    }
    program.push(instruction(JUMP_EQUAL, 0, 3, architecture.socket));
    program.push(instruction(LOAD, 0, 0, FIRST_ARGUMENT));
    program.push(instruction(JUMP_EQUAL, 0, 1, AF_VSOCK));
    program.push(verdict(ERRNO | EAFNOSUPPORT));
    program.push(verdict(ALLOW));
    program.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a filter as the kernel would, for the four instructions that it is made of.
    fn run(program: &[u8], architecture: u32, number: u32, argument: u64) -> u32 {
        let mut data = [0_u8; 64];
        data[0..4].copy_from_slice(&number.to_le_bytes());
        data[4..8].copy_from_slice(&architecture.to_le_bytes());
        data[16..24].copy_from_slice(&argument.to_le_bytes());
        let (mut at, mut loaded) = (0, 0);
        loop {
            let one: [u8; 8] = program[at * 8..at * 8 + 8].try_into().unwrap();
            let value = u32::from_le_bytes([one[4], one[5], one[6], one[7]]);
            let jump = |taken: bool| usize::from(if taken { one[2] } else { one[3] });
            at += 1;
            match u16::from_le_bytes([one[0], one[1]]) {
                LOAD => {
                    let from = value as usize;
                    loaded = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
                }
                JUMP_EQUAL => at += jump(loaded == value),
                JUMP_AT_LEAST => at += jump(loaded >= value),
                RETURN => return value,
                other => panic!("no such instruction: {other:#x}"),
            }
        }
    }

    #[test]
    fn refuses_listed_calls_only() {
        for architecture in &ARCHITECTURES {
            let program = filter(architecture.name).unwrap();
            let own = |number, argument| run(&program, architecture.audit, number, argument);
            let refused: Vec<u32> = REFUSED.iter().map(|(_, numbers)| numbers[architecture.column]).collect();
            for number in 0..600 {
                let expected = if refused.contains(&number) { ERRNO | EPERM } else { ALLOW };
                assert_eq!(own(number, 2), expected, "{} {number}", architecture.name);
            }
            assert_eq!(own(architecture.socket, AF_VSOCK.into()), ERRNO | EAFNOSUPPORT);
            // The kernel reads 32 bits of a family: higher bits hide nothing.
            assert_eq!(own(architecture.socket, u64::from(AF_VSOCK) | 1 << 40), ERRNO | EAFNOSUPPORT);
            assert_eq!(own(architecture.socket, 1), ALLOW);
            // `write` and `connect` with the same first argument.
            assert_eq!((own(1, AF_VSOCK.into()), own(203, AF_VSOCK.into())), (ALLOW, ALLOW));
            for other in ARCHITECTURES.iter().map(|other| other.audit).chain([0x4000_0003, 0x4000_0028, 0]) {
                if other != architecture.audit {
                    assert_eq!(run(&program, other, 1, 0), KILL_PROCESS, "{other:#x}");
                }
            }
            let x32 = own(X32 | 1, 0);
            assert_eq!(x32, if architecture.has_x32 { ERRNO | ENOSYS } else { ALLOW });
        }
        assert_eq!(filter("sparc64"), None);
    }

    #[test]
    fn each_call_is_listed_once() {
        for column in 0..ARCHITECTURES.len() {
            let mut numbers: Vec<u32> = REFUSED.iter().map(|(_, numbers)| numbers[column]).collect();
            numbers.retain(|&number| number != NONE);
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all, "column {column}");
        }
    }
}
