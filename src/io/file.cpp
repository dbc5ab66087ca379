// SPDX-License-Identifier: Apache-2.0

#include "io/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <ios>
#include <new>
#include <random>
#include <system_error>

namespace tenure::io {
namespace {

namespace fs = std::filesystem;

Error access_error(const std::string& path, std::string_view what, std::string_view why) {
  return {StatusCode::kInvalidInput, fmt::format("{}: {}: {}", path, what, why), true};
}

// What the C library said last; a stream keeps no reason of its own.
std::string last_reason() {
  return errno == 0 ? "unknown reason" : std::generic_category().message(errno);
}

Result<FileBytes> read_stream(std::ifstream& stream, const fs::path& source,
                              const std::string& path, std::uint64_t limit_bytes) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  FileBytes file;
  std::error_code no_size;
  const std::uint64_t size = fs::file_size(source, no_size);
  // One piece more, so that the read that finds the end needs no second buffer.
  const std::uint64_t expected = (no_size ? 0 : std::min(size, limit_bytes)) + kPieceBytes;
  if (expected > file.bytes.max_size()) throw std::bad_alloc();
  file.bytes.reserve(static_cast<std::size_t>(expected));
  while (file.bytes.size() < limit_bytes) {
    const std::size_t begin = file.bytes.size();
    const auto piece =
        static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, limit_bytes - begin));
    file.bytes.resize(begin + piece);
    stream.read(reinterpret_cast<char*>(file.bytes.data() + begin),
                static_cast<std::streamsize>(piece));
    const auto count = static_cast<std::size_t>(stream.gcount());
    file.bytes.resize(begin + count);
    if (stream.bad()) return access_error(path, "cannot read", last_reason());
    if (count < piece) break;
  }
  file.file_size_bytes = std::max<std::uint64_t>(no_size ? 0 : size, file.bytes.size());
  const bool is_at_limit = file.bytes.size() == limit_bytes && file.file_size_bytes == limit_bytes;
  if (is_at_limit && stream.peek() != std::ifstream::traits_type::eof()) ++file.file_size_bytes;
  return file;
}

MaybeError write_directly(const std::string& path, const fs::path& target, std::string_view text) {
  errno = 0;
  std::ofstream stream(target, std::ios::binary | std::ios::trunc);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  if (stream.fail()) return access_error(path, "cannot write", last_reason());
  return std::nullopt;
}

// Appending nothing asks whether a file may be written, and leaves it as it is.
bool is_writable(const fs::path& file) {
  return std::ofstream(file, std::ios::binary | std::ios::app).good();
}

}  // namespace

Result<FileBytes> read_file(const std::string& path, std::uint64_t limit_bytes) {
  try {
    const fs::path source = fs::u8path(path);
    std::error_code ignored;
    if (fs::is_directory(source, ignored)) {
      return access_error(path, "cannot read", "it is a folder");
    }
    errno = 0;
    std::ifstream stream(source, std::ios::binary);
    if (!stream) return access_error(path, "cannot read", last_reason());
    return read_stream(stream, source, path, limit_bytes);
  } catch (const std::bad_alloc&) {
    return prefixed(path, {StatusCode::kOutOfMemory, "memory was refused"});
  } catch (const std::system_error& error) {  // the name is no UTF-8, and this is Windows
    return access_error(path, "cannot read", error.code().message());
  }
}

MaybeError write_file(const std::string& path, std::string_view text) {
  const fs::path named = fs::u8path(path);
  std::error_code error;
  const bool exists = fs::exists(named, error);
  // A link is followed, so that it stays one, even where nothing is behind it yet.
  if (!exists && fs::is_symlink(named, error)) return write_directly(path, named, text);
  const fs::path target = exists ? fs::canonical(named, error) : named;
  if (error && exists) return access_error(path, "cannot write", error.message());
  if (exists && fs::is_directory(target, error)) {
    return access_error(path, "cannot write", "it is a folder");
  }
  if (exists && !fs::is_regular_file(target, error)) return write_directly(path, target, text);
  errno = 0;
  if (exists && !is_writable(target)) return access_error(path, "cannot write", last_reason());

  const std::string name = fmt::format(".tenure-{:08x}.tmp", std::random_device()());
  const fs::path temporary = target.parent_path() / name;
  if (MaybeError failed = write_directly(path, temporary, text)) {
    fs::remove(temporary, error);
    return failed;
  }
  if (exists) fs::permissions(temporary, fs::status(target).permissions(), error);
  fs::rename(temporary, target, error);
  if (!error) return std::nullopt;
  const std::string reason = error.message();
  fs::remove(temporary, error);
  return access_error(path, "cannot write", reason);
}

}  // namespace tenure::io
