// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "tenure/io/csv.h"
#include "tenure/planner.h"

namespace tenure {
namespace {

io::Result<io::CsvProblem> parse(const std::string& text) {
  return io::parse_csv(text, "blocks.csv");
}

void expect_error(const std::string& text, const std::string& message,
                  StatusCode code = StatusCode::kInvalidInput) {
  const auto csv = parse(text);
  ASSERT_FALSE(csv.ok()) << text;
  EXPECT_EQ(csv.error().message, "blocks.csv: " + message);
  EXPECT_EQ(csv.error().code, code) << csv.error().message;
  EXPECT_FALSE(csv.error().is_file_access);
}

TEST(CsvReader, TurnsHalfOpenRangesIntoInclusiveSteps) {
  const auto csv = parse("id,lower,upper,size\na,0,1,64\nb,3,7,128\n");
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  ASSERT_EQ(csv->blocks.size(), 2U);
  EXPECT_EQ(csv->blocks[0].live_range, (LiveRange{Step(0), Step(0)}));
  EXPECT_EQ(csv->blocks[1].live_range, (LiveRange{Step(3), Step(6)}));
  EXPECT_EQ(csv->blocks[1].size_bytes, 128U);
  EXPECT_FALSE(csv->blocks[1].is_fixed());
}

TEST(CsvReader, KeepsIdsAsTheyAreAndInTheirOrder) {
  const auto csv = parse("id,lower,upper,size\n 007,0,1,1\n\"x y\",0,1,1\n3,0,1,1\n");
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  EXPECT_EQ(csv->ids, (std::vector<std::string>{" 007", "\"x y\"", "3"}));
}

TEST(CsvReader, TakesColumnsInAnyOrderAndSkipsOthers) {
  const auto csv = parse("size,comment,upper,id,lower\n64,first,2,a,1\n");
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  EXPECT_EQ(csv->ids[0], "a");
  EXPECT_EQ(csv->blocks[0].size_bytes, 64U);
  EXPECT_EQ(csv->blocks[0].live_range, (LiveRange{Step(1), Step(1)}));
}

TEST(CsvReader, TakesWindowsLineEndsByteOrderMarkAndNoLastLineEnd) {
  const auto csv = parse("\xEF\xBB\xBFid,lower,upper,size\r\na,0,1,64\r\n\r\nb,0,1,32");
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  ASSERT_EQ(csv->blocks.size(), 2U);
  EXPECT_EQ(csv->blocks[0].size_bytes, 64U);
  EXPECT_EQ(csv->blocks[1].size_bytes, 32U);
}

TEST(CsvReader, FixesBlocksThatHaveAnOffset) {
  const auto csv = parse("id,lower,upper,size,offset\na,0,1,64,128\nb,0,1,64,\n");
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  EXPECT_EQ(csv->blocks[0].fixed_offset_bytes, 128U);
  EXPECT_FALSE(csv->blocks[1].is_fixed());
}

TEST(CsvReader, GivesEveryBlockTheAlignmentThatWasAskedFor) {
  const auto csv = io::parse_csv("id,lower,upper,size\na,0,1,64\n", "blocks.csv",
                                 io::CsvOptions().set_alignment_bytes(16));
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  EXPECT_EQ(csv->blocks[0].alignment_bytes, 16U);
}

TEST(CsvReader, TakesAHeaderWithoutRows) {
  const auto csv = parse("id,lower,upper,size\n");
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  EXPECT_TRUE(csv->blocks.empty());
}

TEST(CsvReader, ReadsTheLargestNumbersThatFit) {
  const auto csv = parse(
      "id,lower,upper,size,offset\n"
      "a,4294967294,4294967295,18446744073709551615,9223372036854775807\n");
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  const Block& block = csv->blocks[0];
  EXPECT_EQ(block.live_range, (LiveRange{Step(4294967294U), Step(4294967294U)}));
  EXPECT_EQ(block.size_bytes, UINT64_MAX);
  EXPECT_EQ(block.fixed_offset_bytes, UINT64_MAX / 2);
}

TEST(CsvReader, NamesTheCellWhoseNumberDoesNotFit) {
  const std::string header = "id,lower,upper,size,offset\n";
  expect_error(header + "a,0,1,1,\nb,4294967296,1,1,\n",
               "line 3: column 2 (lower): '4294967296' does not fit in 32 bits",
               StatusCode::kOverflow);
  expect_error(header + "a,0,4294967296,1,\n",
               "line 2: column 3 (upper): '4294967296' does not fit in 32 bits",
               StatusCode::kOverflow);
  expect_error(header + "a,0,1,18446744073709551616,\n",
               "line 2: column 4 (size): '18446744073709551616' does not fit in 64 bits",
               StatusCode::kOverflow);
  expect_error(header + "a,0,1,1,9223372036854775808\n",
               "line 2: column 5 (offset): '9223372036854775808' does not fit in 63 bits",
               StatusCode::kOverflow);
}

TEST(CsvReader, NamesTheCellThatIsNoNumber) {
  const std::string header = "id,lower,upper,size\n";
  for (const std::string cell :
       {"", "x", "1.5", "0x10", "1 ", " 1", "+1", "1e3", "-", "99999999999999999999x"}) {
    expect_error(header + "a,0,1," + cell + "\n",
                 "line 2: column 4 (size): '" + cell + "' is not a number");
  }
}

TEST(CsvReader, NamesTheCellThatIsNegative) {
  expect_error("id,lower,upper,size\na,-1,1,1\n", "line 2: column 2 (lower): '-1' is negative");
  expect_error("id,lower,upper,size\na,0,1,-64\n", "line 2: column 4 (size): '-64' is negative");
  expect_error("id,lower,upper,size,offset\na,0,1,64,-64\n",
               "line 2: column 5 (offset): '-64' is refused: a fixed offset is negative");
}

TEST(CsvReader, RefusesRangesThatAreEmptyOrReversed) {
  expect_error("id,lower,upper,size\na,5,5,1\n",
               "line 2: column 3 (upper): '5' is not above lower, which is 5");
  expect_error("id,lower,upper,size\na,5,2,1\n",
               "line 2: column 3 (upper): '2' is not above lower, which is 5");
}

TEST(CsvReader, NamesTheColumnThatIsMissing) {
  expect_error("lower,upper,size\n", "line 1: the column 'id' is missing");
  expect_error("id,upper,size\n", "line 1: the column 'lower' is missing");
  expect_error("id,lower,size\n", "line 1: the column 'upper' is missing");
  expect_error("id,lower,upper\n", "line 1: the column 'size' is missing");
}

TEST(CsvReader, NamesTheColumnThatOccursTwice) {
  expect_error("id,lower,upper,size,size\n", "line 1: the column 'size' occurs twice");
}

TEST(CsvReader, SaysThatThereIsNoHeader) {
  expect_error("0,0,1,64\n", "line 1: there is no header with the columns id,lower,upper,size");
}

TEST(CsvReader, SaysThatTheFileIsEmpty) {
  expect_error("", "the file is empty");
  expect_error("\n\r\n", "the file is empty");
}

TEST(CsvReader, NamesTheLineWithTooFewOrTooManyCells) {
  expect_error("id,lower,upper,size\n\na,0,1\n", "line 3: the header has 4 columns, this line 3");
  expect_error("id,lower,upper,size\na,0,1,1,\n", "line 2: the header has 4 columns, this line 5");
}

TEST(CsvReader, NamesBothLinesOfAnIdThatOccursTwice) {
  expect_error("id,lower,upper,size\na,0,1,1\nb,0,1,1\na,2,3,1\n",
               "line 4: column 1 (id): 'a' is the id of line 2 too");
}

TEST(CsvReader, TellsAFileThatCannotBeReadFromOneThatIsWrong) {
  const auto csv = io::read_csv(::testing::TempDir() + "/no such folder/blocks.csv");
  ASSERT_FALSE(csv.ok());
  EXPECT_TRUE(csv.error().is_file_access);
  EXPECT_NE(csv.error().message.find("no such folder/blocks.csv: cannot read: "), std::string::npos)
      << csv.error().message;
}

TEST(CsvWriter, WritesRowsThatReadBackAsFixedBlocks) {
  const std::string text =
      io::csv_text({{"a", {Step(0), Step(0)}, 64, 0}, {"b", {Step(2), Step(5)}, 40000000000, 64}});
  EXPECT_EQ(text, "id,lower,upper,size,offset\na,0,1,64,0\nb,2,6,40000000000,64\n");
  const auto csv = parse(text);
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  EXPECT_EQ(csv->blocks[1].live_range, (LiveRange{Step(2), Step(5)}));
  EXPECT_EQ(csv->blocks[1].size_bytes, 40000000000U);
  EXPECT_EQ(csv->blocks[1].fixed_offset_bytes, 64U);
}

TEST(CsvWriter, WritesTheLastStepWithoutOverflow) {
  EXPECT_EQ(io::csv_text({{"a", {Step(0), Step(0xFFFFFFFEU)}, 1, 0}}),
            "id,lower,upper,size,offset\na,0,4294967295,1,0\n");
}

}  // namespace
}  // namespace tenure
