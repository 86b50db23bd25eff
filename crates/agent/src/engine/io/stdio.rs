//! fread and fwrite of the C library, with a buffer of one block; single characters by fgetc and fputc.

use std::ffi::c_int;

use super::{Action, Engine, Queued, Request};
use crate::engine::sys;

/// One FILE, and the state that shows whether a seek is needed.
struct Stream {
    file: *mut libc::FILE,
    /// The C library's buffer: setvbuf takes a size only together with memory. Freed after the stream is closed.
    _buffer: Vec<u8>,
    position: u64,
    last: Action,
}

pub(in crate::engine) struct Stdio {
    streams: Vec<Option<Stream>>,
    block: usize,
    append: bool,
}

impl Stdio {
    /// `block`: the size of each stream's buffer. `append`: whether streams write at the current end.
    pub(in crate::engine) fn new(block: usize, append: bool) -> Stdio {
        Stdio { streams: Vec::new(), block, append }
    }
}

fn last_error() -> i64 {
    -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

impl Stream {
    /// Seeks to the request's offset if needed, and between reading and writing, as the C standard requires.
    fn turn(&mut self, request: &Request, append: bool) -> i64 {
        let moved = self.position != request.offset && !append;
        if !moved && self.last == request.action {
            return 0;
        }
        // SAFETY: the stream is open. Appending streams write at the end, whatever their position.
        if unsafe { libc::fseeko(self.file, request.offset as libc::off_t, libc::SEEK_SET) } != 0 {
            return last_error();
        }
        (self.position, self.last) = (request.offset, request.action);
        0
    }

    fn done(&mut self, moved: usize) -> i64 {
        self.position += moved as u64;
        // SAFETY: the stream is open.
        if moved == 0 && unsafe { libc::ferror(self.file) } != 0 {
            let error = last_error();
            // SAFETY: the stream is open.
            unsafe { libc::clearerr(self.file) };
            return error;
        }
        moved as i64
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open and no other code uses it. `closing` has flushed it and reported errors.
        unsafe { libc::fclose(self.file) };
    }
}

impl Engine for Stdio {
    fn opened(&mut self, slot: u32, file: c_int, _size: u64, writable: bool) -> i64 {
        let slot = slot as usize;
        if self.streams.len() <= slot {
            self.streams.resize_with(slot + 1, || None);
        }
        let mode = match (self.append, writable) {
            (true, _) => c"a+",
            (false, true) => c"r+",
            (false, false) => c"r",
        };
        // A stream closes its descriptor, so it gets a duplicate; the engine's own stays open.
        // SAFETY: no memory is passed.
        let own = unsafe { libc::fcntl(file, libc::F_DUPFD_CLOEXEC, 0) };
        if own < 0 {
            return last_error();
        }
        // SAFETY: the mode ends with a zero byte; the descriptor is this stream's own.
        let stream = unsafe { libc::fdopen(own, mode.as_ptr()) };
        if stream.is_null() {
            let error = last_error();
            sys::close(own);
            return error;
        }
        let mut buffer = vec![0; self.block.max(1)];
        // SAFETY: the stream is unused so far, and the buffer stays in place until the stream is closed.
        unsafe { libc::setvbuf(stream, buffer.as_mut_ptr().cast(), libc::_IOFBF, buffer.len()) };
        self.streams[slot] = Some(Stream { file: stream, _buffer: buffer, position: 0, last: Action::Sync });
        0
    }

    fn closing(&mut self, slot: u32) -> i64 {
        let Some(stream) = self.streams.get_mut(slot as usize).and_then(Option::take) else { return 0 };
        // SAFETY: the stream is open.
        if unsafe { libc::fflush(stream.file) } == 0 { 0 } else { last_error() }
    }

    #[inline]
    unsafe fn queue(&mut self, request: &Request) -> Queued {
        let Some(Some(stream)) = self.streams.get_mut(request.slot as usize) else { return Queued::Done(0) };
        if matches!(request.action, Action::Sync | Action::SyncData) {
            // SAFETY: the stream is open.
            if unsafe { libc::fflush(stream.file) } != 0 {
                return Queued::Done(last_error());
            }
            let whole = request.action == Action::Sync;
            return Queued::Done(if whole { sys::fsync(request.file) } else { sys::fdatasync(request.file) });
        }
        let turned = stream.turn(request, self.append);
        if turned < 0 {
            return Queued::Done(turned);
        }
        let moved = match request.action {
            // SAFETY: the caller guarantees buffer and length; the stream is open.
            Action::Read => unsafe { libc::fread(request.buffer.cast(), 1, request.length, stream.file) },
            // SAFETY: as above.
            _ => unsafe { libc::fwrite(request.buffer.cast(), 1, request.length, stream.file) },
        };
        Queued::Done(stream.done(moved))
    }

    unsafe fn queue_characters(&mut self, request: &Request) -> Queued {
        let Some(Some(stream)) = self.streams.get_mut(request.slot as usize) else { return Queued::Done(0) };
        let turned = stream.turn(request, self.append);
        if turned < 0 {
            return Queued::Done(turned);
        }
        // SAFETY: the caller guarantees buffer and length.
        let buffer = unsafe { std::slice::from_raw_parts_mut(request.buffer, request.length) };
        let moved = match request.action {
            Action::Read => buffer
                .iter_mut()
                .map_while(|byte| {
                    // SAFETY: the stream is open.
                    let character = unsafe { libc::fgetc(stream.file) };
                    *byte = u8::try_from(character).ok()?;
                    Some(())
                })
                .count(),
            _ => {
                // SAFETY: the stream is open.
                let put = |byte: &&mut u8| unsafe { libc::fputc(c_int::from(**byte), stream.file) } != libc::EOF;
                buffer.iter_mut().take_while(put).count()
            }
        };
        Queued::Done(stream.done(moved))
    }

    fn drain(&mut self) -> i64 {
        let mut answer = 0;
        for stream in self.streams.iter().flatten() {
            // SAFETY: the stream is open.
            if unsafe { libc::fflush(stream.file) } != 0 {
                answer = last_error();
            }
        }
        answer
    }
}
