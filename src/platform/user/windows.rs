//! Users by their security identifiers.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::{HANDLE, LocalFree};
use windows_sys::Win32::Security::Authorization::ConvertSidToStringSidW;
use windows_sys::Win32::Security::{GetTokenInformation, PSID, TOKEN_QUERY, TOKEN_USER, TokenUser};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// A constant that stands for this user: Windows has no user numbers, and what belongs to others is not seen.
pub fn id() -> u32 {
    1
}

/// A security identifier as text: `S-1-5-21-…`.
pub type Sid = String;

/// The security identifier of this process's user.
///
/// # Errors
/// What the system says.
pub fn sid() -> io::Result<Sid> {
    let mut token: HANDLE = std::ptr::null_mut();
    // SAFETY: the handle of this process needs no closing; the token's is owned right away.
    #[allow(unsafe_code)]
    let token = unsafe {
        if OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) == 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedHandle::from_raw_handle(token)
    };
    // Aligned for the structure at its beginning; the identifier that the structure points to follows it.
    let mut space = [0u64; 32];
    let mut needed = 0;
    // SAFETY: the system writes at most as many bytes as it is told that there are.
    #[allow(unsafe_code)]
    let found = unsafe {
        let (at, bytes) = (space.as_mut_ptr().cast(), size_of_val(&space) as u32);
        GetTokenInformation(token.as_raw_handle(), TokenUser, at, bytes, &raw mut needed)
    };
    if found == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above has filled the structure in, and `space` outlives its use.
    #[allow(unsafe_code)]
    unsafe {
        text((*space.as_ptr().cast::<TOKEN_USER>()).User.Sid)
    }
}

/// An identifier as text.
///
/// # Safety
/// It points to a valid identifier.
#[allow(unsafe_code)]
pub(crate) unsafe fn text(sid: PSID) -> io::Result<Sid> {
    let mut wide: *mut u16 = std::ptr::null_mut();
    // SAFETY: the caller vouches for the identifier; the text is the system's until it is freed below.
    unsafe {
        if ConvertSidToStringSidW(sid, &raw mut wide) == 0 {
            return Err(io::Error::last_os_error());
        }
        let mut length = 0;
        while *wide.add(length) != 0 {
            length += 1;
        }
        let text = String::from_utf16_lossy(std::slice::from_raw_parts(wide, length));
        LocalFree(wide.cast());
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_user_has_an_identifier() {
        assert!(super::sid().unwrap().starts_with("S-1-"));
    }
}
