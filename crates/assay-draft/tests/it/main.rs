mod needs;
