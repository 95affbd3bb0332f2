mod labels;
mod needs;
mod verdict;
