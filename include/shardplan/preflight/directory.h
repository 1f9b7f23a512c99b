// A model directory as a directory: what its entries are, whatever is in them.
#ifndef SHARDPLAN_PREFLIGHT_DIRECTORY_H_
#define SHARDPLAN_PREFLIGHT_DIRECTORY_H_

#include <string>
#include <vector>

#include "shardplan/base/finding.h"
#include "shardplan/base/result.h"

namespace shardplan {

// Looks at the entries of `directory` and at the places where download tools keep what they have
// not finished (.cache/huggingface below it, the blobs of a Hugging Face cache beside it). Of small
// files the first bytes are read. Fails with kIo where the directory cannot be listed.
//
//   model.unfinished_file    error    aria2's control file stands beside a file: that one has its
//                                     full length and holes in it
//   model.download_leftover  warning  parts that a download tool left behind
//   model.dangling_link      error    a link to nothing in the place of a file that is loaded
//   model.unreadable         error    a file that the system does not let this user read
//   model.lfs_pointer        error    Git LFS pointers in the place of files
//   model.links_outside      note     links out of the directory, as in a Hugging Face cache: a
//                                     container that mounts the directory alone does not see them
Result<std::vector<Finding>> DirectoryFindings(const std::string& directory);

// "a, b, c and 12 more": at most `limit` of the names, safe to print.
std::string NameSome(const std::vector<std::string>& names, size_t limit = 4);

}  // namespace shardplan

#endif  // SHARDPLAN_PREFLIGHT_DIRECTORY_H_
