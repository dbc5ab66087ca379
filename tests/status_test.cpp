// SPDX-License-Identifier: Apache-2.0

#include "tenure/status.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "support/statuses.h"

namespace tenure {
namespace {

constexpr std::uint8_t kReasonCount = static_cast<std::uint8_t>(Reason::kBoundTooHigh) + 1;

TEST(Status, IsOkUntilThereIsAReason) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kOk);
  EXPECT_TRUE(status.tensor.is_none());
  EXPECT_TRUE(status.op.is_none());
  for (std::uint8_t i = 1; i < kReasonCount; ++i) {
    const Status failed(static_cast<Reason>(i));
    EXPECT_FALSE(failed.ok()) << int{i};
    EXPECT_NE(failed.code(), StatusCode::kOk) << int{i};
  }
}

TEST(Status, AsksOfTheCallerWhatTheReasonCallsFor) {
  EXPECT_EQ(code_of(Reason::kNone), StatusCode::kOk);
  EXPECT_EQ(code_of(Reason::kIndexOutOfRange), StatusCode::kInvalidInput);
  EXPECT_EQ(code_of(Reason::kOrderCycle), StatusCode::kInvalidInput);
  EXPECT_EQ(code_of(Reason::kNotPowerOfTwo), StatusCode::kInvalidInput);
  EXPECT_EQ(code_of(Reason::kReversedLiveRange), StatusCode::kInvalidInput);
  EXPECT_EQ(code_of(Reason::kFixedOffsetNegative), StatusCode::kInvalidInput);
  EXPECT_EQ(code_of(Reason::kSizeOverflow), StatusCode::kOverflow);
  EXPECT_EQ(code_of(Reason::kTooMany), StatusCode::kOverflow);
  EXPECT_EQ(code_of(Reason::kAddressSpace), StatusCode::kOverflow);
  EXPECT_EQ(code_of(Reason::kFixedOffsetBeyondCapacity), StatusCode::kLimitExceeded);
  EXPECT_EQ(code_of(Reason::kCapacityExceeded), StatusCode::kLimitExceeded);
  EXPECT_EQ(code_of(Reason::kBufferTooSmall), StatusCode::kLimitExceeded);
  EXPECT_EQ(code_of(Reason::kUpstreamRefused), StatusCode::kOutOfMemory);
  EXPECT_EQ(code_of(Reason::kBlocksLive), StatusCode::kInUse);
  EXPECT_EQ(code_of(Reason::kRunInProgress), StatusCode::kInUse);
  EXPECT_EQ(code_of(Reason::kStaleMark), StatusCode::kInvalidInput);
  EXPECT_EQ(code_of(Reason::kPoolExhausted), StatusCode::kLimitExceeded);
  EXPECT_EQ(code_of(Reason::kPlanBytesDamaged), StatusCode::kUnsafePlan);
  EXPECT_EQ(code_of(Reason::kPlanBytesVersion), StatusCode::kInvalidInput);
  EXPECT_EQ(code_of(Reason::kPlanBytesForeign), StatusCode::kUnsafePlan);
  for (auto i = static_cast<std::uint8_t>(Reason::kPlanMismatch); i < kReasonCount; ++i) {
    EXPECT_EQ(code_of(static_cast<Reason>(i)), StatusCode::kUnsafePlan) << int{i};
  }
  for (auto i = static_cast<std::uint8_t>(Reason::kIndexOutOfRange);
       i <= static_cast<std::uint8_t>(Reason::kOrderCycle); ++i) {
    EXPECT_EQ(code_of(static_cast<Reason>(i)), StatusCode::kInvalidInput) << int{i};
  }
}

TEST(Status, HasASentenceOfItsOwnForEachReason) {
  std::set<std::string> texts;
  for (std::uint8_t i = 0; i < kReasonCount; ++i) {
    const char* text = text_of(static_cast<Reason>(i));
    ASSERT_NE(text, nullptr);
    const std::string sentence = text;
    ASSERT_FALSE(sentence.empty()) << int{i};
    EXPECT_NE(sentence.back(), '.') << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    EXPECT_TRUE(texts.insert(sentence).second) << sentence;
    EXPECT_NE(sentence, "unknown reason");
  }
  EXPECT_NE(text_of(static_cast<Reason>(kReasonCount)), nullptr);
}

TEST(Status, KeepsEveryCulpritGiven) {
  const Status status = Status(Reason::kOverwritten)
                            .with(TensorIndex(1), TensorIndex(2))
                            .with(OperatorIndex(3))
                            .with(BlockIndex(4), BlockIndex(5))
                            .with(RegionIndex(6))
                            .with(Step(7))
                            .needed(8)
                            .available(9)
                            .live(10);
  EXPECT_EQ(status.tensor, TensorIndex(1));
  EXPECT_EQ(status.other_tensor, TensorIndex(2));
  EXPECT_EQ(status.op, OperatorIndex(3));
  EXPECT_EQ(status.block, BlockIndex(4));
  EXPECT_EQ(status.other_block, BlockIndex(5));
  EXPECT_EQ(status.region, RegionIndex(6));
  EXPECT_EQ(status.step, Step(7));
  EXPECT_EQ(status.needed_bytes, 8U);
  EXPECT_EQ(status.available_bytes, 9U);
  EXPECT_EQ(status.live_blocks, 10U);
  EXPECT_EQ(test::text_of(status),
            std::string(text_of(Reason::kOverwritten)) +
                ": operator 3, tensor 1, tensor 2, block 4, block 5, region 6, step 7, needed 8 "
                "bytes, available 9 bytes, 10 blocks live");
}

TEST(Status, IsDescribedWithoutCulpritsInOneSentence) {
  EXPECT_EQ(test::text_of(Status()), "no error");
  EXPECT_EQ(test::text_of(Status(Reason::kUpstreamRefused)), "memory was refused");
}

TEST(Status, IsDescribedWithTheNamesThatThereAre) {
  NameSource names;
  names.tensor_name = [](const void*, TensorIndex tensor) -> const char* {
    if (tensor.value == 0) return "image";
    return tensor.value == 1 ? "" : nullptr;
  };
  names.operator_name = [](const void*, OperatorIndex) -> const char* { return "conv"; };
  const auto text_with = [&](TensorIndex tensor) {
    return test::text_of(Status(Reason::kUpstreamRefused).with(tensor).with(OperatorIndex(4)),
                         names);
  };
  EXPECT_EQ(text_with(TensorIndex(0)), "memory was refused: operator 4 'conv', tensor 0 'image'");
  EXPECT_EQ(text_with(TensorIndex(1)), "memory was refused: operator 4 'conv', tensor 1");
  EXPECT_EQ(text_with(TensorIndex(2)), "memory was refused: operator 4 'conv', tensor 2");
  names.operator_name = nullptr;
  EXPECT_EQ(text_with(TensorIndex(0)), "memory was refused: operator 4, tensor 0 'image'");
}

// tflite-micro's printer overflows above 26.8 MB.
TEST(Status, IsDescribedWithNumbersOfEverySize) {
  const auto needing = [](std::uint64_t bytes) {
    return test::text_of(Status(Reason::kBufferTooSmall).needed(bytes).available(1));
  };
  EXPECT_EQ(needing(10), "the lent buffer is too small: needed 10 bytes, available 1 bytes");
  EXPECT_EQ(needing(40'000'000'000),
            "the lent buffer is too small: needed 40000000000 bytes, available 1 bytes");
  EXPECT_EQ(needing(UINT64_MAX),
            "the lent buffer is too small: needed 18446744073709551615 bytes, available 1 bytes");
}

TEST(Status, SaysThatNothingIsAvailable) {
  EXPECT_EQ(test::text_of(Status(Reason::kBufferTooSmall).needed(1).available(0)),
            "the lent buffer is too small: needed 1 bytes, available 0 bytes");
}

TEST(Status, CountsOneBlockInTheSingular) {
  EXPECT_EQ(test::text_of(Status(Reason::kBlocksLive).live(1)),
            "blocks are live in the memory concerned: 1 block live");
}

TEST(Status, IsDescribedIntoNothing) {
  describe(Status(Reason::kTooMany).with(TensorIndex(0)), {}, {});  // must not call anything
}

TEST(Result, HoldsAValue) {
  Result<int> result = 7;
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.status().ok());
  EXPECT_EQ(result.value(), 7);
  *result = 8;
  EXPECT_EQ(*result, 8);
}

TEST(Result, HoldsWhyThereIsNone) {
  const Result<int> result = Status(Reason::kSizeOverflow).with(TensorIndex(5));
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().reason(), Reason::kSizeOverflow);
  EXPECT_EQ(result.status().tensor, TensorIndex(5));
}

struct MoveOnly {
  MoveOnly() = default;
  explicit MoveOnly(int number) : value(number) {}
  MoveOnly(MoveOnly&& other) noexcept : value(std::exchange(other.value, 0)) {}
  MoveOnly& operator=(MoveOnly&& other) noexcept {
    value = std::exchange(other.value, 0);
    return *this;
  }
  MoveOnly(const MoveOnly&) = delete;
  MoveOnly& operator=(const MoveOnly&) = delete;
  ~MoveOnly() = default;
  int value = 0;
};

TEST(Result, HandsOverWhatCanOnlyMove) {
  Result<MoveOnly> result = MoveOnly(9);
  EXPECT_EQ(result->value, 9);
  const MoveOnly taken = std::move(result).value();
  EXPECT_EQ(taken.value, 9);
  const Result<MoveOnly> failed = Status(Reason::kTooMany);
  EXPECT_FALSE(failed.ok());
}

}  // namespace
}  // namespace tenure
