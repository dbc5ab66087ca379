// SPDX-License-Identifier: Apache-2.0
#pragma once

// Packings whose optimum is known: a rectangle of bytes and steps is cut at random, straight through
// or as a pinwheel (four pieces round a fifth, which no straight cut makes), until it has so many
// pieces. `slack_percent` then takes that much off the pieces' sizes, so that the optimum is between
// the lower bound and the height.
//
// fill_like_network() has what networks have instead: sizes over three orders of magnitude, most
// ranges a few steps long and some of them many, and a few per cent that stay free.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tenure/problem.h"
#include "workload.h"

namespace tenure::bench {

struct CutShape {
  std::uint32_t pieces = 40;
  std::uint64_t height = 1'048'576;
  std::uint32_t steps = 400;
  double slack_percent = 0.0;
};

class RectangleCutter {
 public:
  explicit RectangleCutter(std::uint64_t seed) : random_(seed) {}

  std::vector<Block> cut(const CutShape& shape) {
    pieces_ = {{0, shape.height, 0, shape.steps}};
    while (pieces_.size() < shape.pieces) {
      // The larger of two, so that sizes stay within reason.
      const std::size_t a = random_.below(static_cast<std::uint32_t>(pieces_.size()));
      const std::size_t b = random_.below(static_cast<std::uint32_t>(pieces_.size()));
      const std::size_t index = area(pieces_[a]) > area(pieces_[b]) ? a : b;
      const bool wants_pinwheel = pieces_.size() + 4 <= shape.pieces && random_.below(4) == 0;
      if (!wants_pinwheel || !cut_pinwheel(index)) cut_straight(index);
    }
    std::vector<Block> blocks;
    for (const Piece& piece : pieces_) {
      Block block;
      const auto bytes = static_cast<double>(piece.high - piece.low);
      const double taken = bytes * shape.slack_percent / 100.0 * 2.0 * random_.uniform();
      block.size_bytes = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bytes - taken));
      block.live_range = {Step(piece.begin), Step(piece.end - 1)};
      block.alignment_bytes = 1;
      blocks.push_back(block);
    }
    return blocks;
  }

 private:
  struct Piece {  // half-open both ways
    std::uint64_t low;
    std::uint64_t high;
    std::uint32_t begin;
    std::uint32_t end;
  };

  static double area(const Piece& piece) {
    return static_cast<double>(piece.high - piece.low) * (piece.end - piece.begin);
  }
  // Strictly between the two. Precondition: there is something.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + 1 + random_.below(static_cast<std::uint32_t>(high - low - 1));
  }

  void cut_straight(std::size_t index) {
    Piece rest = pieces_[index];
    if (random_.below(2) == 0) {
      if (rest.high - rest.low < 2) return;
      rest.low = pieces_[index].high = between(rest.low, rest.high);
    } else {
      if (rest.end - rest.begin < 2) return;
      const auto at = static_cast<std::uint32_t>(between(rest.begin, rest.end));
      rest.begin = pieces_[index].end = at;
    }
    pieces_.push_back(rest);
  }

  bool cut_pinwheel(std::size_t index) {
    const Piece whole = pieces_[index];
    if (whole.high - whole.low < 4 || whole.end - whole.begin < 4) return false;
    const std::uint64_t low = between(whole.low, whole.high - 1);
    const std::uint64_t high = between(low, whole.high);
    const auto begin = static_cast<std::uint32_t>(between(whole.begin, whole.end - 1));
    const auto end = static_cast<std::uint32_t>(between(begin, whole.end));
    pieces_[index] = {whole.low, high, whole.begin, begin};   // left
    pieces_.push_back({high, whole.high, whole.begin, end});  // above
    pieces_.push_back({low, whole.high, end, whole.end});     // right
    pieces_.push_back({whole.low, low, begin, whole.end});    // below
    pieces_.push_back({low, high, begin, end});               // the middle
    return true;
  }

  Random random_;
  std::vector<Piece> pieces_;
};

// Step after step the free room below 1 MiB is filled from the bottom, so that 1 MiB suffices.
inline std::vector<Block> fill_like_network(std::uint64_t seed, std::uint32_t pieces) {
  constexpr std::uint64_t kHeight = 1'048'576;
  constexpr std::uint64_t kTooSmall = kHeight / 64;
  struct Live {
    std::uint64_t low;
    std::uint64_t high;
    std::uint32_t last_step;
  };
  Random random(seed);
  std::vector<Block> blocks;
  std::vector<Live> live;  // by offset
  for (std::uint32_t step = 0; blocks.size() < pieces; ++step) {
    live.erase(std::remove_if(live.begin(), live.end(),
                              [&](const Live& piece) { return piece.last_step < step; }),
               live.end());
    std::uint64_t low = 0;
    for (std::size_t i = 0; i <= live.size() && blocks.size() < pieces; low = live[i++].high) {
      const std::uint64_t room = (i < live.size() ? live[i].low : kHeight) - low;
      if (room >= kTooSmall) {
        const double drawn = 65'536.0 * std::exp(1.5 * random.normal());
        const auto wanted = static_cast<std::uint64_t>(std::min(drawn, 1e6)) / 64 * 64 + 64;
        const std::uint64_t size = std::min(wanted, room);
        const double mean_extra = random.below(8) == 0 ? 24.0 : 2.0;
        const double extra = -mean_extra * std::log(random.uniform());
        const std::uint32_t last_step = step + static_cast<std::uint32_t>(extra);
        Block block;
        block.size_bytes = size;
        block.live_range = {Step(step), Step(last_step)};
        blocks.push_back(block);
        live.insert(live.begin() + static_cast<std::ptrdiff_t>(i), {low, low + size, last_step});
      }
      if (i == live.size()) break;
    }
  }
  return blocks;
}

}  // namespace tenure::bench
