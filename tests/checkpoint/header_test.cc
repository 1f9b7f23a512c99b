#include "checkpoint/header.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/checkpoint_builder.h"

namespace shardplan {
namespace {

Result<ParsedHeader> ParseTensors(std::string_view text, int64_t payload) {
  return ParseHeader("s.safetensors", PaddedText(text), Bytes(payload));
}

std::string HeaderError(std::string_view text, int64_t payload = 12) {
  const auto header = ParseTensors(text, payload);
  if (header) return "no error";
  EXPECT_EQ(header.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(header.error().subject, "s.safetensors");
  EXPECT_EQ(header.error().ToString().find('\n'), std::string::npos);
  return header.error().message + (header.error().hint == "the file is corrupt; fetch it again"
                                       ? ""
                                       : " | " + header.error().hint);
}

std::string NameIn(const ParsedHeader& header, size_t i) {
  const TensorRecord& tensor = header.tensors.at(i);
  return JoinTensorName(header.patterns.at(tensor.pattern), tensor.indices);
}

// A header of one good tensor "x", with one part replaced.
std::string With(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return R"({"x":{"dtype":)" + std::string(dtype) + R"(,"shape":)" + std::string(shape) +
         R"(,"data_offsets":)" + std::string(offsets) + "}}";
}

TEST(HeaderTest, ReadsTensors) {
  const auto header = ParseTensors(
      R"( {"__metadata__":{"format":"pt"},
          "l.0.w":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},
          "l.1.w":{"shape":[2,3],"data_offsets":[12,24],"dtype":"BF16"},
          "s":{"data_offsets":[24,28],"dtype":"F32","shape":[]},
          "e":{"dtype":"F4","shape":[0,7],"data_offsets":[28,28]}}   )",
      28);
  ASSERT_TRUE(header) << header.error().ToString();
  ASSERT_EQ(header->tensors.size(), 4u);
  EXPECT_EQ(header->patterns, (std::vector<std::string>{"l.{}.w", "s", "e"}));
  EXPECT_EQ(header->shapes, (std::vector<Shape>{Shape({2, 3}), Shape(), Shape({0, 7})}));
  EXPECT_EQ(header->tensors[1],
            (TensorRecord{.indices = {1, -1, -1}, .dtype = DType::kBF16, .begin = 12, .end = 24}));
  EXPECT_EQ(header->tensors[2],
            (TensorRecord{.pattern = 1, .shape = 1, .dtype = DType::kF32, .begin = 24, .end = 28}));
}

TEST(HeaderTest, EmptyIsFine) {
  EXPECT_TRUE(ParseTensors("{}", 0));
  EXPECT_TRUE(ParseTensors("{}      ", 0));
  EXPECT_TRUE(ParseTensors(R"({"__metadata__":{}})", 0));
}

TEST(HeaderTest, OrdersByOffset) {
  const auto header = ParseTensors(
      R"({"c":{"dtype":"U8","shape":[4],"data_offsets":[6,10]},
          "z":{"dtype":"U8","shape":[0],"data_offsets":[6,6]},
          "a":{"dtype":"U8","shape":[0],"data_offsets":[6,6]},
          "b":{"dtype":"U8","shape":[6],"data_offsets":[0,6]}})",
      10);
  ASSERT_TRUE(header) << header.error().ToString();
  EXPECT_EQ(NameIn(*header, 0), "b");
  EXPECT_EQ(NameIn(*header, 1), "z");  // empty tensors keep the header's order
  EXPECT_EQ(NameIn(*header, 2), "a");
  EXPECT_EQ(NameIn(*header, 3), "c");
}

TEST(HeaderTest, UnescapesNames) {
  const auto header = ParseTensors(
      R"({"a\"\\\/\n\u00e9\ud83d\ude00":{"dtype":"U8","\u0073hape":[1],"data_offsets":[0,1]}})", 1);
  ASSERT_TRUE(header) << header.error().ToString();
  EXPECT_EQ(NameIn(*header, 0), "a\"\\/\né😀");
}

TEST(HeaderTest, EscapedAndPlainSpellingsAreOneName) {
  EXPECT_EQ(HeaderError(R"({"a.1":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                        "a.\u0031":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                        2),
            "tensor a.1: expected once, found twice in this header");
}

// Every proper beginning of a header is refused, whatever it breaks off in.
TEST(HeaderTest, EveryTruncationIsAnError) {
  const std::string whole =
      R"({"__metadata__":{"format":"pt"},"l.0.w\u0041":{"dtype":"BF16","shape":[2,3],)"
      R"("data_offsets":[0,12]},"y":{"dtype":"U8","shape":[1],"data_offsets":[12,13]}})";
  ASSERT_TRUE(ParseTensors(whole, 13));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ParseTensors(std::string_view(whole).substr(0, size), 13)) << size;
  }
}

// Likewise with any one byte replaced by something that cannot stand there.
TEST(HeaderTest, AControlCharacterAnywhereIsAnError) {
  const std::string whole = With("\"BF16\"", "[2,3]", "[0,12]");
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string broken = whole;
    broken[at] = '\x01';
    EXPECT_FALSE(ParseTensors(broken, 12)) << at;
  }
}

struct BadHeader {
  std::string text;
  std::string_view error;
};

TEST(HeaderTest, RefusesWhatIsNotJson) {
  const std::string good = With("\"BF16\"", "[2,3]", "[0,12]");
  const BadHeader table[] = {
      {"", "expected a JSON header, found nothing but blanks"},
      {"  \n", "expected a JSON header, found nothing but blanks"},
      {"[]", "expected a JSON header, found text that begins with '['"},
      {"null", "expected a JSON header, found text that begins with 'n'"},
      {std::string("\0\0", 2), "expected a JSON header, found text that begins with byte 0x00"},
      {"\xef\xbb\xbf{}", "expected a JSON header, found text that begins with byte 0xef"},
      {"{", "expected a JSON header, found text that ends with '{' instead of '}'"},
      {good + "}", "expected a JSON header, found more text after its closing brace"},
      {good + "{}", "expected a JSON header, found more text after its closing brace"},
      {good + " ,}", "expected a JSON header, found more text after its closing brace"},
      {good + "x", "expected a JSON header, found text that ends with 'x' instead of '}'"},
      {good + std::string(1, '\0'),
       "expected a JSON header, found text that ends with byte 0x00 instead of '}'"},
      {"{\"x\xff\":1}", "expected a JSON header, found text that is not UTF-8"},
      {"{\"x\n\":1}", "expected a JSON header, found a control character inside a string"},
      {"{\"x}", "expected a JSON header, found a string without an end"},
      {R"({"\q":1})", "expected a JSON header, found a string with a bad escape near byte 6"},
      {R"({"\ud800":1})", "expected a JSON header, found a string with a bad escape near byte 10"},
      {R"({"x" 1})", "expected a JSON header, found malformed JSON near byte 5"},
      {R"({x:1})", "expected a JSON header, found malformed JSON near byte 1"},
      {R"({"__metadata__":{},})", "expected a JSON header, found malformed JSON near byte 19"},
      {R"({"__metadata__":{"a":"b"]})",
       "expected a JSON header, found malformed JSON near byte 24"},
      {With("\"BF16\"", "[2,3]", "[0,12"),
       "expected a JSON header, found malformed JSON near byte 55"},
      {With("\"BF16\"", "[2,,3]", "[0,12]"),
       "tensor x: expected dimensions to be integers from 0 to 2^63 - 1, found ,"},
      {With("\"BF16\"", "[2 3]", "[0,12]"),
       "expected a JSON header, found malformed JSON near byte 32"},
      {With("\"BF16\"", "[2,3}", "[0,12]"),
       "expected a JSON header, found malformed JSON near byte 33"},
  };
  for (const BadHeader& bad : table) EXPECT_EQ(HeaderError(bad.text), bad.error) << bad.text;
}

TEST(HeaderTest, RefusesBadEntries) {
  const BadHeader table[] = {
      {R"({"x":1})", "tensor x: expected an object with dtype, shape and data_offsets, found 1"},
      {R"({"x":null})",
       "tensor x: expected an object with dtype, shape and data_offsets, found null"},
      {R"({"x":{}})", "tensor x: expected dtype, shape and data_offsets, found no dtype"},
      {R"({"x":{"dtype":"U8"}})",
       "tensor x: expected dtype, shape and data_offsets, found no shape"},
      {R"({"x":{"dtype":"U8","shape":[1]}})",
       "tensor x: expected dtype, shape and data_offsets, found no data_offsets"},
      {R"({"x":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       "tensor x: expected dtype once, found it again"},
      {R"({"x":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})",
       "tensor x: expected shape once, found it again"},
      {R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"data_offsets":[0,1]}})",
       "tensor x: expected data_offsets once, found it again"},
      {R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"stride":[1]}})",
       "tensor x: expected dtype, shape and data_offsets only, found stride"},
      {R"({"a\u001b[2J":1})",
       "tensor a\\x1b[2J: expected an object with dtype, shape and data_offsets, found 1"},
      {R"({"__metadata__":{},"__metadata__":{}})", "expected __metadata__ once, found it twice"},
      {R"({"__metadata__":1})",
       "expected __metadata__ to map strings to strings, found something else in it"},
      {R"({"__metadata__":{"a":1}})",
       "expected __metadata__ to map strings to strings, found something else in it"},
      {R"({"__metadata__":{"a":{"b":"c"}}})",
       "expected __metadata__ to map strings to strings, found something else in it"},
  };
  for (const BadHeader& bad : table) EXPECT_EQ(HeaderError(bad.text), bad.error) << bad.text;
}

TEST(HeaderTest, RefusesBadDTypes) {
  EXPECT_EQ(HeaderError(With("\"F7\"", "[2,3]", "[0,12]")),
            "tensor x: expected a dtype that safetensors knows (BF16, F8_E4M3, F4 …), found F7 | "
            "the file is corrupt, or newer than this program");
  EXPECT_EQ(HeaderError(With("\"bf16\"", "[2,3]", "[0,12]")),
            "tensor x: expected a dtype that safetensors knows (BF16, F8_E4M3, F4 …), found bf16 | "
            "the file is corrupt, or newer than this program");
  EXPECT_EQ(HeaderError(With("16", "[2,3]", "[0,12]")),
            "tensor x: expected dtype to be a string, found 16");
}

TEST(HeaderTest, RefusesBadShapes) {
  constexpr std::string_view kDims =
      "tensor x: expected dimensions to be integers from 0 to 2^63 - 1, found ";
  for (const std::string_view dim :
       {"-1", "-0", "1.0", "1e3", "9223372036854775808", "18446744073709551616",
        "99999999999999999999999999", "\"2\"", "true", "null", "01", "0x10", "+1", "1a"}) {
    EXPECT_EQ(HeaderError(With("\"U8\"", "[2," + std::string(dim) + "]", "[0,12]")),
              std::string(kDims) + std::string(dim));
  }
  EXPECT_EQ(HeaderError(With("\"U8\"", "[[2]]", "[0,12]")), std::string(kDims) + "[");
  EXPECT_EQ(HeaderError(With("\"U8\"", "12", "[0,12]")),
            "tensor x: expected shape to be an array, found 12");
}

TEST(HeaderTest, RefusesBadOffsets) {
  constexpr std::string_view kOffsets =
      "tensor x: expected data_offsets to be two integers from 0 to 2^63 - 1, found ";
  const BadHeader table[] = {
      {"[0,-1]", "-1"},
      {"[0,1.5]", "1.5"},
      {"[0,9223372036854775808]", "9223372036854775808"},
      {"[\"0\",1]", "\"0\""},
      {"{}", "{"},
      {"12", "12"},
  };
  for (const BadHeader& bad : table) {
    EXPECT_EQ(HeaderError(With("\"BF16\"", "[2,3]", bad.text)),
              std::string(kOffsets) + std::string(bad.error));
  }
  EXPECT_EQ(HeaderError(With("\"BF16\"", "[2,3]", "[]")),
            "tensor x: expected 2 data_offsets, found 0");
  EXPECT_EQ(HeaderError(With("\"BF16\"", "[2,3]", "[0,12,24]")),
            "tensor x: expected 2 data_offsets, found 3");
  EXPECT_EQ(HeaderError(With("\"BF16\"", "[2,3]", "[12,0]")),
            "tensor x: expected data_offsets in order, found [12, 0]");
}

TEST(HeaderTest, RefusesSizesThatDoNotFit) {
  const BadHeader table[] = {
      {With("\"BF16\"", "[2,3]", "[0,13]"),
       "tensor x: shape [2, 3] of BF16 takes 12 bytes, its data_offsets [0, 13] span 13"},
      {With("\"F4\"", "[3]", "[0,12]"),
       "tensor x: expected whole bytes, found shape [3] of F4 (4 bits an element)"},
      {With("\"F6_E2M3\"", "[2]", "[0,12]"),
       "tensor x: expected whole bytes, found shape [2] of F6_E2M3 (6 bits an element)"},
      {With("\"U8\"", "[4294967296,4294967296]", "[0,12]"),
       "tensor x: shape [4294967296, 4294967296] of U8 does not fit in 64 bits"},
      {With("\"F64\"", "[9223372036854775807]", "[0,9223372036854775807]"),
       "tensor x: shape [9223372036854775807] of F64 does not fit in 64 bits"},
      {With("\"U8\"", "[9007199254740993]", "[0,12]"),
       "tensor x: shape [9007199254740993] of U8 takes 9007199254740993 bytes, its data_offsets "
       "[0, 12] span 12"},
  };
  for (const BadHeader& bad : table) EXPECT_EQ(HeaderError(bad.text), bad.error) << bad.text;
  // Zero elements, whatever else is in the shape.
  EXPECT_TRUE(
      ParseTensors(With("\"F64\"", "[9223372036854775807,9223372036854775807,0]", "[0,0]"), 0));
}

std::string TwoTensors(std::string_view a, std::string_view b) {
  return R"({"a.0":{"dtype":"U8","shape":[4],"data_offsets":)" + std::string(a) +
         R"(},"a.1":{"dtype":"U8","shape":[4],"data_offsets":)" + std::string(b) + "}}";
}

TEST(HeaderTest, RefusesPayloadsThatAreNotTiled) {
  EXPECT_TRUE(ParseTensors(TwoTensors("[0,4]", "[4,8]"), 8));
  EXPECT_TRUE(ParseTensors(TwoTensors("[4,8]", "[0,4]"), 8));
  EXPECT_EQ(HeaderError(TwoTensors("[0,4]", "[5,9]"), 9),
            "tensor a.1: expected its data to begin at 4, found 5: the payload has a hole");
  EXPECT_EQ(HeaderError(TwoTensors("[0,4]", "[3,7]"), 7),
            "tensor a.1: expected its data to begin at 4, found 3: the payload has tensors that "
            "overlap");
  EXPECT_EQ(HeaderError(TwoTensors("[0,4]", "[0,4]"), 4),
            "tensor a.1: expected its data to begin at 4, found 0: the payload has tensors that "
            "overlap");
  EXPECT_EQ(HeaderError(TwoTensors("[1,5]", "[5,9]"), 9),
            "tensor a.0: expected its data to begin at 0, found 1: the payload has a hole");
  EXPECT_EQ(HeaderError(TwoTensors("[0,4]", "[4,8]"), 7),
            "expected 8 B of payload, found 7 B | the file is truncated; fetch it again");
  EXPECT_EQ(HeaderError(TwoTensors("[0,4]", "[4,8]"), 9), "expected 8 B of payload, found 9 B");
  EXPECT_EQ(HeaderError("{}", 1), "expected 0 B of payload, found 1 B");
}

TEST(HeaderTest, DeepNestingIsAnErrorNotACrash) {
  for (const std::string_view open : {"[", "{\"x\":"}) {
    std::string deep;
    for (int level = 0; level < 10000; ++level) deep += open;
    for (const std::string& text :
         {deep, R"({"x":)" + deep, R"({"__metadata__":)" + deep, With("\"U8\"", deep, "[0,1]"),
          With(deep, "[1]", "[0,1]"), R"({"__metadata__":{"a":)" + deep}) {
      EXPECT_FALSE(ParseTensors(text, 0));
    }
  }
}

TEST(HeaderTest, ReadsWhatTheBuilderWrites) {
  const std::vector<testing_support::TestTensor> tensors = {
      {"a.0.w", "BF16", {2, 3}}, {"a.1.w", "F4", {2, 3}}, {"b", "F6_E2M3", {4}}};
  const auto header =
      ParseTensors(testing_support::HeaderJson(tensors), testing_support::PayloadOf(tensors));
  ASSERT_TRUE(header) << header.error().ToString();
  EXPECT_EQ(header->tensors.back().end, 12 + 3 + 3);
}

}  // namespace
}  // namespace shardplan
