//! Pseudo terminals: the terminal of a container, and the one that a test gives to kubectl.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::net::unix::pipe::{Receiver, Sender};

/// The end of a pseudo terminal that a person would look at and type on.
///
/// It is registered with the runtime as if it were two pipes, which differ from it only in what is checked of a file.
pub struct Terminal {
    near: File,
    printed: Receiver,
    typed: Sender,
}

impl Terminal {
    /// Opens a terminal of 80 columns and 24 rows. The file is the end of the process.
    pub fn open() -> io::Result<(Terminal, File)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let near = openpt(flags)?;
        grantpt(&near)?;
        unlockpt(&near)?;
        let name = ptsname(&near, Vec::new())?;
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let no_controlling = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
        let far = OpenOptions::new().read(true).write(true).custom_flags(no_controlling).open(path)?;
        rustix::io::ioctl_fionbio(&near, true)?;
        let near = File::from(near);
        let printed = Receiver::from_file_unchecked(near.try_clone()?)?;
        let typed = Sender::from_file_unchecked(near.try_clone()?)?;
        let terminal = Terminal { near, printed, typed };
        terminal.resize(80, 24)?;
        Ok((terminal, far))
    }

    /// Changes its size, which its process is told by a signal.
    pub fn resize(&self, columns: u16, rows: u16) -> io::Result<()> {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(&self.near, size)?)
    }

    /// Reads what was printed; 0 when no process has the terminal any more.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.printed.readable().await?;
            match self.printed.try_read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => return Ok(0),
                read => return read,
            }
        }
    }

    /// Types.
    pub async fn write_all(&self, mut data: &[u8]) -> io::Result<()> {
        while !data.is_empty() {
            self.typed.writable().await?;
            match self.typed.try_write(data) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => data = &data[written?..],
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[tokio::test]
    async fn a_process_sees_a_terminal_of_a_size() {
        let (terminal, far) = Terminal::open().unwrap();
        terminal.resize(100, 30).unwrap();
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", "read line; test -t 0 && stty size"]).stdin(far.try_clone().unwrap());
        command.stdout(Stdio::from(far.try_clone().unwrap())).stderr(far);
        let mut child = command.spawn().unwrap();
        drop(command);
        terminal.write_all(b"go\n").await.unwrap();
        let (mut all, mut buffer) = (Vec::new(), [0; 100]);
        loop {
            match terminal.read(&mut buffer).await.unwrap() {
                0 => break,
                size => all.extend_from_slice(&buffer[..size]),
            }
        }
        assert_eq!(String::from_utf8_lossy(&all), "go\r\n30 100\r\n");
        assert!(child.wait().await.unwrap().success());
    }
}
